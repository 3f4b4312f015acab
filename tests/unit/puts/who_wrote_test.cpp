#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>

#include "base/json_reader.h"
#include "base/query.h"
#include "base/time_text.h"
#include "putlog/who_wrote_command.h"
#include "puts/who_wrote.h"
#include "support/temporary_folder.h"
#include "support/value_of.h"
#include "web/server.h"

namespace ioc_exporter::puts {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

IocFacts ioc(const std::string& name, std::vector<std::string> records,
             std::vector<RecordAlias> aliases = {}) {
  auto database = std::make_shared<Database>();
  database->types = {"ao"};
  for (const std::string& record : records) database->records.push_back({0x1000, record, 0});
  database->aliases = std::move(aliases);
  IocFacts sample;
  sample.name = name;
  sample.up = true;
  sample.database = database;
  return sample;
}

struct Snapshot : PutsSamples {
  std::vector<IocFacts> iocs;
  std::vector<PutSourceSample> sources;
};

WhoWrote who_wrote(const Snapshot& all, std::string_view pv) {
  return puts::who_wrote(all.iocs, all, all.sources, pv);
}

// Two IOCs of EPICS Base that share no record name but R2, and a server without a database.
Snapshot snapshot() {
  Snapshot all;
  all.iocs = {ioc("one", {"R1", "R2"}, {{"Alias", 0}}), ioc("two", {"R2", "R3"})};
  all.iocs.push_back(IocFacts{});
  all.iocs.back().name = "soft";
  all.puts = {{"one", "R1", "c1", "u", "h", PutOp::write, 23, 100},
              {"one", "R1.DESC$", "c2", "u", "h", PutOp::write, 1, 300},
              {"one", "Alias.VAL", "c3", "u", "h", PutOp::write_notify, 2, 200},
              {"one", "R2", "c1", "u", "h", PutOp::write, 7, 50},
              {"one", "", "c9", "", "", PutOp::write, 11, 400},
              {"two", "R2.VAL", "c1", "u", "h", PutOp::write, 5, 60},
              {"two", "", "c9", "", "", PutOp::write, 13, 0},
              {"soft", "R1.VAL", "c4", "u", "h", PutOp::write, 3, 0},
              {"soft", "R10", "c4", "u", "h", PutOp::write, 3, 500}};
  return all;
}

std::vector<std::string> clients(const WhoWrote& answer) {
  std::vector<std::string> found;
  for (const PutSample& put : answer.puts)
    found.push_back(put.ioc + " " + put.pv + " " + put.client);
  return found;
}

std::vector<std::string> records(const WhoWrote& answer) {
  std::vector<std::string> found;
  for (const PvSample& pv : answer.records)
    found.push_back(pv.ioc + " " + pv.record + "." + pv.field);
  return found;
}

TEST(WhoWrote, AllNamesOfTheRecordTheLatestFirst) {
  for (const char* asked : {"R1", "R1.VAL", "Alias", "Alias.DESC", "R1.{\"dbnd\":{}}"}) {
    const WhoWrote answer = who_wrote(snapshot(), asked);
    EXPECT_EQ(answer.pv, asked);
    std::vector<std::string> expected = {"one R1.DESC$ c2", "one Alias.VAL c3", "one R1 c1"};
    // A server whose records are not known: the same name is the same record.
    if (asked[0] == 'R') expected.push_back("soft R1.VAL c4");
    EXPECT_EQ(clients(answer), expected) << asked;
    EXPECT_EQ(answer.unnamed_puts, 11u) << "of the IOC that has the record";
    EXPECT_EQ(answer.problem, "");
  }
  EXPECT_THAT(records(who_wrote(snapshot(), "Alias.DESC$")), ElementsAre("one R1.DESC"));
}

TEST(WhoWrote, GroupsOfPvAccessByTheirFields) {
  Snapshot all = snapshot();
  PutSample group{"one", "MY:GROUP", "c6", "u", "h", PutOp::write, 5, 600};
  all.puts.push_back(group);
  group.by_pva = true;
  all.puts.push_back(group);
  const WrittenByGroup groups{{{"one", "MY:GROUP"}, {"R2.VAL", "Alias.DESC"}},
                              {{"two", "MY:GROUP"}, {"R3.VAL"}}};
  const WhoWrote answer = puts::who_wrote(all.iocs, all, {}, "R1", groups);
  EXPECT_THAT(clients(answer), ElementsAre("one MY:GROUP c6", "one R1.DESC$ c2", "one Alias.VAL c3",
                                           "one R1 c1", "soft R1.VAL c4"));
  EXPECT_TRUE(answer.puts[0].by_pva);
  EXPECT_THAT(puts::who_wrote(all.iocs, all, {}, "R3", groups).puts, IsEmpty());
}

TEST(WhoWrote, EachIocThatHasTheRecord) {
  const WhoWrote answer = who_wrote(snapshot(), "R2");
  EXPECT_THAT(clients(answer), ElementsAre("two R2.VAL c1", "one R2 c1"));
  EXPECT_THAT(records(answer), ElementsAre("one R2.VAL", "two R2.VAL"));
  EXPECT_EQ(answer.unnamed_puts, 24u);
}

TEST(WhoWrote, NobodyAndNowhere) {
  const WhoWrote nobody = who_wrote(snapshot(), "R3");
  EXPECT_THAT(nobody.puts, IsEmpty());
  EXPECT_THAT(records(nobody), ElementsAre("two R3.VAL"));
  EXPECT_EQ(nobody.unnamed_puts, 13u);
  const WhoWrote nowhere = who_wrote(snapshot(), "R");
  EXPECT_THAT(nowhere.puts, IsEmpty());
  EXPECT_THAT(nowhere.records, IsEmpty());
  EXPECT_EQ(nowhere.unnamed_puts, 24u) << "they may have been to it";
  EXPECT_THAT(who_wrote(snapshot(), "").puts, IsEmpty());
}

TEST(WhoWrote, NamesThatAreNoUtf8AreFoundAsLabelsOnMetricsToo) {
  Snapshot all = snapshot();
  all.puts.push_back({"soft", "caf\xE9", "c5", "u", "h", PutOp::write, 1, 1});
  EXPECT_THAT(clients(who_wrote(all, "caf\xE9")), ElementsAre("soft caf\xE9 c5"));
  EXPECT_THAT(clients(who_wrote(all, "caf\\xE9")), ElementsAre("soft caf\xE9 c5"));
}

TEST(WhoWrote, SaysWhyPutsMayBeMissing) {
  Snapshot all = snapshot();
  EXPECT_EQ(why_puts_are_missing(true, false, true), "");
  EXPECT_NE(why_puts_are_missing(true, false, false), "");
  EXPECT_THAT(why_puts_are_missing(true, true, false), HasSubstr("detached"));
  EXPECT_THAT(why_puts_are_missing(false, false, false), HasSubstr("--no-collector.puts"));
}

TEST(WhoWrote, SinceTheLastGapOfThoseThatHaveTheRecord) {
  Snapshot all = snapshot();
  all.sources = {{"one", "ca", "server", "", 100},
                 {"one", "pva", "packets", "old", 200},
                 {"two", "ca", "server", "", 300},
                 {"soft", "ca", "none", "no probe"}};
  EXPECT_EQ(who_wrote(all, "R1").counting_since_seconds, 200);
  EXPECT_EQ(who_wrote(all, "R2").counting_since_seconds, 300);
  EXPECT_EQ(who_wrote(all, "R2").problem, "");
  const WhoWrote nowhere = who_wrote(all, "R");
  EXPECT_EQ(nowhere.problem, "ioc soft: puts by Channel Access are not counted: no probe");
  EXPECT_EQ(nowhere.counting_since_seconds, 0);
}

TEST(WhoWrote, AsJson) {
  Snapshot all = snapshot();
  all.puts[0].user = "\"quoted\" \xC3\xA9 \x1b[31m";
  all.puts[0].count = UINT64_C(18446744073709551615);
  all.puts[0].last_time_seconds = 1790000000.123456;
  WhoWrote answer = who_wrote(all, "R1");
  answer.counting_since_seconds = 1789999999.5;
  answer.records[0].writes = {{"ca", 7}, {"shell", 2}};
  const std::string json = to_json(answer);
  for (const char c : json) EXPECT_FALSE(c >= 0 && c < 0x20 && c != '\n') << json;
  const Json back = value_of(Json::parse(json));
  EXPECT_EQ(back.text_at("pv"), "R1");
  EXPECT_EQ(back.at("unnamed_puts").count(), 11u);
  EXPECT_EQ(back.text_at("counting_since"), time_text(1789999999.5));
  EXPECT_EQ(back.at("records").items().size(), 1u);
  EXPECT_EQ(back.at("records").items()[0].at("writes").at("ca").count(), 7u);
  const Json::Array& puts = back.at("puts").items();
  ASSERT_EQ(puts.size(), answer.puts.size());
  EXPECT_EQ(puts[0].at("puts").count(), all.puts[0].count);
  EXPECT_EQ(puts[0].text_at("time"), time_text(1790000000.123456));
  EXPECT_EQ(puts[0].text_at("op"), "write");
  EXPECT_EQ(puts[2].text_at("op"), "write_notify");
}

CommandResult run(const std::vector<const char*>& arguments) {
  return ioc_exporter::run(putlog::who_wrote_command(), static_cast<int>(arguments.size()),
                           arguments.data());
}

WhoWrote sample() {
  WhoWrote answer;
  answer.pv = "R1";
  answer.records = {{{"one", "R1", "R1", "VAL"}}};
  answer.puts = {
      {"one", "R1.VAL", "10.0.0.7", "operator", "console1", PutOp::write_notify, 23, 1000},
      {"one", "R1", "10.0.0.8", "", "evil\x1b[2J", PutOp::write, 7, 0}};
  answer.counting_since_seconds = 400;
  return answer;
}

std::string to_text(const WhoWrote& answer, std::size_t limit, double now) {
  const auto text = read_json(to_json(answer),
                              [&](const Json& json) { return putlog::to_text(json, limit, now); });
  const bool found =
      text->text.starts_with("TIME") || text->text.find("Written ") != std::string::npos;
  const bool is_known = !text->text.starts_with("It is not known");
  EXPECT_EQ(text->status, found ? kDone : is_known ? kNotFound : kFailed);
  return text->text;
}

TEST(WhoWroteText, OneLineForEachWriter) {
  const std::string out = to_text(sample(), 20, 1200);
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 3);
  EXPECT_THAT(
      out,
      HasSubstr("  3 min 20 s  one  R1.VAL  10.0.0.7  operator  console1     write_notify  23\n"));
  EXPECT_THAT(
      out,
      HasSubstr("  -           one  R1      10.0.0.8  -         evil_[2J     write         7\n"));
}

TEST(WhoWroteText, TheRestIsCounted) {
  WhoWrote answer = sample();
  answer.unnamed_puts = 11;
  answer.problem = "not all puts could be read";
  answer.records[0].writes = {{"ca", 30}, {"pva", 3}, {"shell", 2}, {"link", 5}, {"inside", 0}};
  const std::string out = to_text(answer, 1, 1200);
  for (const char* part : {"... and 1 more ", " 11 puts ", "not all puts could be read\n",
                           ": 5 (link), 2 (shell)\n", ": 3 (pva)\n"})
    EXPECT_THAT(out, HasSubstr(part));
  EXPECT_THAT(out, Not(HasSubstr("10.0.0.8")));
  EXPECT_THAT(to_text(answer, 0, 1200), HasSubstr("10.0.0.8"));
}

// What nobody saw is not taken for what nobody did.
TEST(WhoWroteText, Nobody) {
  WhoWrote answer = sample();
  answer.puts.clear();
  EXPECT_THAT(to_text(answer, 20, 1200), StartsWith("No put to R1 was seen since "));
  EXPECT_THAT(to_text(answer, 20, 1200),
              HasSubstr("a record of ioc one, whose own writes are not all counted"));
  answer.unnamed_puts = 11;
  EXPECT_THAT(to_text(answer, 20, 1200), StartsWith("It is not known whether anybody wrote"));
  answer.records[0].writes.emplace();
  EXPECT_THAT(to_text(answer, 20, 1200), StartsWith("Nobody wrote to R1 since "));
  answer.unnamed_puts = 0;
  answer.records[0].writes = {{"ca", 30}};
  EXPECT_THAT(to_text(answer, 20, 1200), StartsWith("No put to R1 was seen since "));
  answer.records.clear();
  EXPECT_THAT(to_text(answer, 20, 1200), StartsWith("No put to R1 was seen since "));
  EXPECT_THAT(to_text(answer, 20, 1200), HasSubstr("no IOC of this host is known to have"));
  answer.problem = "puts are not counted";
  EXPECT_THAT(to_text(answer, 20, 1200), StartsWith("It is not known whether anybody wrote"));
}

TEST(WhoWroteCommand, Usage) {
  for (const std::vector<const char*>& wrong : std::vector<std::vector<const char*>>{
           {}, {"A", "B"}, {"A", "--limit=x"}, {"A", "--limit"}, {"A", "--URL=x"}})
    EXPECT_EQ(run(wrong).status, 2) << ::testing::PrintToString(wrong);
  EXPECT_EQ(run({"--help"}).status, 0);
}

class WhoWroteServer : public ::testing::Test {
 protected:
  void SetUp() override {
    web::ServerOptions options;
    options.listen = {"127.0.0.1:0"};
    options.routes[kWhoWrotePath] = [this](const web::Request& request) {
      const std::string pv = query_value(request.query, "pv").value_or("");
      if (pv == "bad") return web::Response{500, "text/plain", "500 on purpose\n"};
      if (pv == "none") return web::Response{404, kNotFoundType, "404 none\n"};
      if (pv == "other") return web::Response{200, "text/html", "<html>"};
      WhoWrote answer = sample();
      answer.pv = pv;
      answer.put_log_file = log_;
      if (pv == "nobody" || pv == "unknown") answer.puts.clear();
      if (pv == "unknown") answer.problem = "puts are not counted";
      return web::Response{200, "application/json", puts::to_json(answer)};
    };
    server_ = value_of(web::Server::start(std::move(options)));
    url_ = "--url=http://127.0.0.1:" + std::to_string(server_->port());
  }
  CommandResult ask(const char* pv, const char* more = "--limit=20") {
    return run({url_.c_str(), more, pv});
  }

  std::unique_ptr<web::Server> server_;
  std::string url_, log_;
};

std::string log_line(const char* time, const char* pv, const char* user) {
  return std::string("{\"time\":\"1970-01-01T00:") + time +
         ".000000000Z\",\"ioc\":\"one\",\"client\":\"10.0.0.9:4711\",\"user\":\"" + user +
         "\",\"pv\":\"" + pv + "\",\"op\":\"write\"}\n";
}

// The exporter counts since second 400, which is 00:06:40.
TEST_F(WhoWroteServer, WhatWasBeforeIsInTheFiles) {
  const TemporaryFolder folder;
  log_ = folder.path("/puts.json");
  EXPECT_THAT(ask("R1").out,
              HasSubstr(" are not known here: open " + log_ + ": there is no such file\n"));
  std::ofstream(log_) << log_line("01:00", "R1.VAL", "ann") << log_line("02:00", "R2", "bob")
                      << log_line("03:00", "R1.VAL", "ann") << log_line("04:00", "R1.DESC", "cid")
                      << log_line("05:00", "nobody", "eve") << log_line("07:00", "R1", "dora");
  const std::string out = ask("R1").out;
  EXPECT_THAT(out, HasSubstr("operator"));
  EXPECT_THAT(out,
              HasSubstr(", in the put log's files, from 1970-01-01T00:01:00.000000000Z on:\n"));
  const std::string older = out.substr(out.find("the put log's files"));
  EXPECT_LT(older.find("cid"), older.find("ann")) << "the latest first";
  EXPECT_EQ(older.find("ann"), older.rfind("ann")) << "her last put to this name";
  EXPECT_THAT(older, Not(AnyOf(HasSubstr("bob"), HasSubstr("dora"))));
  EXPECT_THAT(ask("R1", "--limit=1").out, Not(HasSubstr("ann")));
  EXPECT_THAT(ask("R3").out, HasSubstr(": none in the put log's files, from 1970"));
  EXPECT_EQ(ask("nobody").status, kDone) << "but eve, before";
  EXPECT_EQ(ask("nobody", "--json").status, kDone);
}

TEST_F(WhoWroteServer, AsksWithAnyNameAndPrints) {
  const CommandResult result = ask("A b+c&d=e%41.VAL{\"x\":1}");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("operator"));
  const CommandResult json = ask("A b+c&d=e%41.VAL{\"x\":1}", "--json");
  EXPECT_EQ(value_of(Json::parse(json.out)).text_at("pv"), "A b+c&d=e%41.VAL{\"x\":1}");
  url_ += "/";
  EXPECT_EQ(ask("R1").status, 0) << "a slash at the end does no harm";
}

TEST_F(WhoWroteServer, NobodyIsNotFound) {
  const CommandResult nobody = ask("nobody");
  EXPECT_EQ(nobody.status, kNotFound);
  EXPECT_EQ(ask("nobody", "--json").status, kNotFound);
  EXPECT_EQ(ask("unknown", "--json").status, kFailed);
  EXPECT_THAT(nobody.out, StartsWith("No put to nobody was seen since "));
  EXPECT_THAT(nobody.out,
              HasSubstr("\nMore puts before " + local_time(400) + " may have been missed\n"));
}

TEST_F(WhoWroteServer, PrintsTheErrorInTheAnswer) {
  CommandResult result = ask("bad");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("it answers with HTTP status 500: 500 on purpose"));
  result = ask("other");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("it answers, but not as ioc_exporter does: "));
  EXPECT_EQ(ask("none").status, kNotFound);
  url_ += "/elsewhere";  // 404, as of any server
  result = ask("R1");
  EXPECT_EQ(result.status, kFailed);
  EXPECT_THAT(result.err, HasSubstr("HTTP status 404"));
}

TEST_F(WhoWroteServer, NobodyAnswers) {
  server_.reset();
  const CommandResult result = ask("R1");
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(result.out, "");
  const std::string url = url_.substr(std::string("--url=").size());
  EXPECT_EQ(result.err, "ioc_exporter who-wrote: ask the exporter at " + url +
                            ": connect to 127.0.0.1 port " + url.substr(url.rfind(':') + 1) +
                            ": Connection refused (does ioc_exporter run there? --url says where "
                            "it listens)\n");
}

}  // namespace
}  // namespace ioc_exporter::puts
