#include "putlog/json.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <limits>

#include <nlohmann/json.hpp>

#include "events.h"
#include "exposition/json_text.h"

namespace ioc_exporter::putlog {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::string text(std::string_view given) {
  std::string out;
  exposition::append_json_text(out, given);
  return out;
}

std::string value_text(const Value& value) {
  PutEvent one = event(1);
  one.value = value;
  const std::string line = to_json(one);
  const std::size_t at = line.find("\"value\":") + 8;
  return line.substr(at, line.size() - 1 - at);
}

TEST(PutJson, HasTheKeysInTheirOrder) {
  PutEvent all = event(7);
  all.server = "10.0.0.1:5064";
  all.client_host = "console";
  all.channel_of = "bob@10.0.0.8:4712";
  all.old = scalar(std::string("Off"));
  all.status = "ok";
  all.seconds = 0.25;
  all.rule = "operators";
  all.action = "expected";
  EXPECT_EQ(
      to_json(all),
      R"({"time":"2026-11-22T23:00:00.000000005Z","seq":7,"ioc":"ps","server":"10.0.0.1:5064",)"
      R"("client":"10.0.0.7:4711","user":"ada",)"
      R"("client_host":"console","channel_of":"bob@10.0.0.8:4712","pv":"SR:I","op":"write",)"
      R"("type":"DBR_DOUBLE","count":1,"value":1.5,"old":"Off","status":"ok","seconds":0.25,)"
      R"("rule":"operators","action":"expected"})");
}

TEST(PutJson, UnknownFieldsAreAbsent) {
  PutEvent nothing;
  nothing.seq = 1;
  EXPECT_EQ(to_json(nothing), R"({"time":"1970-01-01T00:00:00.000000000Z","seq":1})");
}

TEST(PutJson, APutToAGroupHasItsFields) {
  PutEvent put;
  put.pv = "G";
  put.op = "put";
  put.fields = {{"x.VAL", "DBR_DOUBLE", 1, Value{{2.5}, false}, Value{{1.0}, false}},
                {"y.VAL", "DBR_CHAR", 2, Value{{std::int64_t{-1}, std::int64_t{2}}, true}, {}}};
  put.process = "true";
  put.block = true;
  put.status = "ok";
  const std::string text = to_json(put);
  EXPECT_EQ(text.substr(text.find("\"pv\"")),
            R"("pv":"G","op":"put","fields":[)"
            R"({"field":"x.VAL","type":"DBR_DOUBLE","count":1,"value":2.5,"old":1},)"
            R"({"field":"y.VAL","type":"DBR_CHAR","count":2,"value":[-1,2]}],)"
            R"("process":"true","block":true,"status":"ok"})");
}

TEST(PutJson, NumbersAreExact) {
  EXPECT_EQ(value_text(scalar(std::int64_t{9007199254740993})), "9007199254740993");
  EXPECT_EQ(value_text(scalar(std::numeric_limits<std::int64_t>::min())), "-9223372036854775808");
  EXPECT_EQ(value_text(scalar(0.1)), "0.1");
  EXPECT_EQ(value_text(scalar(5e-324)), "5e-324");
  EXPECT_EQ(value_text(scalar(-0.0)), "-0");
  PutEvent last = event(std::numeric_limits<std::uint64_t>::max());
  EXPECT_NE(to_json(last).find("\"seq\":18446744073709551615,"), std::string::npos);
}

TEST(PutJson, ValuesThatAreNoNumbersAreTexts) {
  EXPECT_EQ(value_text({{kNan, kInfinity, -kInfinity}, true}), R"(["NaN","Infinity","-Infinity"])");
}

TEST(PutJson, AnArrayOfOneIsAnArray) {
  EXPECT_EQ(value_text({{std::int64_t{3}}, true}), "[3]");
  EXPECT_EQ(value_text({{}, true}), "[]");
  EXPECT_EQ(value_text({{std::string("a"), std::int64_t{1}, 0.5}, true}), R"(["a",1,0.5])");
}

TEST(PutJson, TextsAreValidAndSteerNoTerminal) {
  EXPECT_EQ(text("\"\\\n\t\x1b[2J\x7f"), R"("\"\\\n\u0009\u001b[2J\u007f")");
  EXPECT_EQ(text("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"),
            "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"");
  EXPECT_EQ(text("\xc2\x9b\xe2\x80\xae\xe2\x80\xa8"), R"("\u009b\u202e\u2028")");
  EXPECT_EQ(text("a\xff"), R"("a\\xFF")");  // as the labels on /metrics
  EXPECT_EQ(text(std::string_view("\0", 1)), R"("\u0000")");
}

TEST(PutJson, AnyBytesMakeOneLineThatAParserTakes) {
  std::srand(1);
  for (int round = 0; round < 2000; ++round) {
    PutEvent one = event(1);
    std::string bytes;
    for (int i = std::rand() % 12; i > 0; --i) bytes += static_cast<char>(std::rand());
    one.user = bytes;
    one.value = scalar(bytes);
    const std::string line = to_json(one);
    EXPECT_EQ(line.find('\n'), std::string::npos);
    ASSERT_TRUE(nlohmann::json::accept(line)) << line;
  }
}

TEST(PutJson, ABurstHasMoreKeys) {
  std::string line;
  append_json(line, {shared(event(9)), 4, Burst{Element(1.0), Element(2.5)}});
  EXPECT_TRUE(line.ends_with(R"("value":1.5,"min":1,"max":2.5,"burst":4})")) << line;
  line.clear();
  append_json(line, {shared(event(9)), 4, Burst{}});
  EXPECT_TRUE(line.ends_with(R"("value":1.5,"burst":4})")) << line;
}

// Keys in this order; arrays are cut at 400 bytes of storage.
TEST(CaPutLogJson, IsAsCaPutLogWritesIt) {
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  PutEvent one = event(1);
  one.time += std::chrono::milliseconds(7);
  one.client_host = "console";
  one.old = scalar(kNan);
  std::string line;
  append_caputlog_json(line, {shared(one)});
  EXPECT_EQ(line, R"({"date":"2026-11-22","time":"23:00:00.007","host":"console","user":"ada",)"
                  R"("pv":"SR:I","new":1.5,"old":"Nan"})");
}

std::string caputlog_values(const Value& value, Dbf kind) {
  PutEvent one = event(1);
  one.value = value;
  one.kind = kind;
  std::string line;
  append_caputlog_json(line, {shared(one)});
  const std::size_t at = line.find("\"new\":") + 6;
  return line.substr(at, line.size() - 1 - at);
}

TEST(CaPutLogJson, WritesNumbersAndCharactersAsR41Does) {
  EXPECT_EQ(caputlog_values(scalar(4.0), Dbf::float64), "4.0");
  EXPECT_EQ(caputlog_values(scalar(-0.1), Dbf::float64), "-0.10000000000000001");
  EXPECT_EQ(caputlog_values(scalar(1e22), Dbf::float64), "1e+22");
  EXPECT_EQ(caputlog_values(scalar(static_cast<double>(0.1F)), Dbf::float32), "0.1");
  EXPECT_EQ(caputlog_values(scalar(std::int64_t{4}), Dbf::int32), "4");
  EXPECT_EQ(caputlog_values(scalar(kInfinity), Dbf::float64), "\"Infinity\"");
  const std::vector<Element> bytes = {std::int64_t{'a'}, std::int64_t{0x80}, std::int64_t{0}};
  EXPECT_EQ(caputlog_values({bytes, true}, Dbf::character), R"(["a\\x80"],"new-size":3)");
  EXPECT_EQ(caputlog_values({bytes, true}, Dbf::uchar), R"([97,128,0],"new-size":3)");
  const Value text{{std::string("ab")}, false, 3};
  EXPECT_EQ(caputlog_values(text, Dbf::character), R"(["ab"],"new-size":3)");
  EXPECT_EQ(caputlog_values(text, Dbf::uchar), R"([97,98,0],"new-size":3)");
  const Value cut{{std::string("ab")}, false, 600};
  EXPECT_EQ(caputlog_values(cut, Dbf::uchar), R"([97,98],"new-size":600)");
  EXPECT_EQ(caputlog_values({{}, true}, Dbf::character), R"([""],"new-size":0)");
  EXPECT_EQ(caputlog_values({{}, true}, Dbf::float64), R"([],"new-size":0)");
  EXPECT_EQ(caputlog_values(scalar(std::string("ab")), Dbf::string), "\"ab\"");
  EXPECT_EQ(caputlog_values(scalar(std::int64_t{'a'}), Dbf::character), "\"a\"");
  EXPECT_EQ(caputlog_values(scalar(std::int64_t{'a'}), Dbf::uchar), "97");
  EXPECT_EQ(caputlog_values({{std::string(401, 'x')}, false, 401}, Dbf::character),
            "[\"" + std::string(400, 'x') + "\"],\"new-size\":401");
}

// Without the put of the line itself; texts have none.
TEST(CaPutLogJson, ABurstIsHowManyPutsHaveNoLine) {
  const auto line = [](const Burst& burst) {
    PutEvent one = event(1);
    one.kind = Dbf::float64;
    std::string text;
    append_caputlog_json(text, {shared(one), 4, burst});
    return text.substr(text.find(",\"new\""));
  };
  EXPECT_EQ(line({Element(1.0), Element(2.5)}), R"(,"new":1.5,"min":1.0,"max":2.5,"burst":3})");
  EXPECT_EQ(line({}), R"(,"new":1.5})");
}

TEST(CaPutLogJson, CutsArraysAndTellsTheirSize) {
  const auto elements_of = [](const Element& element, Dbf kind) {
    PutEvent one = event(1);
    one.kind = kind;
    one.value = Value{std::vector<Element>(300, element), true, 5000};
    std::string line;
    append_caputlog_json(line, {shared(one)});
    const auto json = nlohmann::json::parse(line);
    EXPECT_EQ(json.at("new-size"), 5000);
    EXPECT_EQ(json.at("host"), "10.0.0.7");
    return json.at("new").size();
  };
  EXPECT_EQ(elements_of(std::int64_t{1}, Dbf::int32), 100u);
  EXPECT_EQ(elements_of(std::int64_t{1}, Dbf::uint16), 200u);
  EXPECT_EQ(elements_of(0.5, Dbf::float64), 50u);
  EXPECT_EQ(elements_of(std::string("x"), Dbf::string), 10u);
}

}  // namespace
}  // namespace ioc_exporter::putlog
