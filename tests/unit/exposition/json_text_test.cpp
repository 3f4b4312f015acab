#include "exposition/json_text.h"

#include <gtest/gtest.h>

#include "base/json_reader.h"

namespace ioc_exporter::exposition {
namespace {

std::string written(std::string_view text) {
  const auto json = Json::parse(text);
  std::string out;
  if (json) append_json(out, *json);
  return out;
}

TEST(JsonText, WhatIsReadIsWrittenAsItWas) {
  const std::string all =
      R"({"z":[1,-2,18446744073709551615,0.1,"\"\\"],"a":{"b":true,"c":false,"d":null},"e":{}})";
  EXPECT_EQ(written(all), all);
  EXPECT_EQ(written(" [ 1.5 ,\t\"a\\u0009\\u00e4\" ]\n"), "[1.5,\"a\\u0009\xc3\xa4\"]");
}

TEST(JsonText, ObjectsAndLists) {
  std::string out;
  {
    JsonObject object(out);
    object.text("left_out", "");
    object.any_text("empty", "");
    object.flag("up", true);
    append_json_list(object.key("list"), std::string("ab"),
                     [&out](char one) { append_json_text(out, std::string(1, one)); });
    object.number("count", 3);
  }
  EXPECT_EQ(out, R"({"empty":"","up":true,"list":["a","b"],"count":3})");
}

}  // namespace
}  // namespace ioc_exporter::exposition
