#include "base/json_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "support/value_of.h"

namespace ioc_exporter {
namespace {

using testing::HasSubstr;

std::string problem_of(std::string_view text) {
  return error_of(Json::parse(text));
}

TEST(JsonReader, ReadsEachKindAndTheLastOfOneKey) {
  const auto json = value_of(Json::parse(R"({"text":"a","whole":-3,"count":18446744073709551615,
                                    "part":0.5,"flag":true,"list":[1,2],"text":"b"})"));
  EXPECT_EQ(json.at("text").text(), "b");
  EXPECT_EQ(json.at("whole").integer(), -3);
  EXPECT_EQ(json.at("count").count(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(json.at("part").number(), 0.5);
  EXPECT_EQ(json.at("whole").number(), -3.0);
  EXPECT_TRUE(json.at("flag").flag());
  EXPECT_EQ(json.at("list").items().size(), 2u);
  EXPECT_EQ(json.find("other"), nullptr);
  EXPECT_EQ(json.find("list")->find("text"), nullptr);
  EXPECT_EQ(json.text_at("whole"), "");
}

TEST(JsonReader, TextThatIsNoJsonIsAnError) {
  for (const char* text : {"", "{", "[1,]", "{\"a\":1}}", "nul", "\"\xff\"", "1e999", "[1] [2]"})
    EXPECT_THAT(problem_of(text), HasSubstr("no JSON at byte")) << text;
}

TEST(JsonReader, ValuesThatAreNestedTooDeepAreAnError) {
  EXPECT_EQ(problem_of(std::string(32, '[') + std::string(32, ']')), "");
  EXPECT_THAT(problem_of(std::string(33, '[') + std::string(33, ']')), HasSubstr("nested"));
  EXPECT_THAT(problem_of(std::string(1'000'000, '[')), HasSubstr("nested"));
}

TEST(JsonReader, WhatIsAbsentOrOfAnotherKindEndsTheReading) {
  const auto problem = [](auto read) {
    return error_of(read_json(R"({"a":"text","b":-1})", read));
  };
  EXPECT_THAT(problem([](const Json& json) { return json.at("c").number(); }), HasSubstr("\"c\""));
  EXPECT_THAT(problem([](const Json& json) { return json.at("a").number(); }),
              HasSubstr("no number"));
  EXPECT_THAT(problem([](const Json& json) { return json.at("a").items().size(); }),
              HasSubstr("no list"));
  EXPECT_THAT(problem([](const Json& json) { return json.at("b").count(); }), HasSubstr("below"));
  EXPECT_EQ(problem([](const Json& json) { return json.at("b").integer(); }), "");
}

}  // namespace
}  // namespace ioc_exporter
