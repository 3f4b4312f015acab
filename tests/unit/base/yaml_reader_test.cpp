#include "base/yaml_reader.h"

#include <gtest/gtest.h>

#include "base/yaml_file.h"

namespace ioc_exporter {
namespace {

// What is wrong with `text`, read by `read`.
std::string problems_of(const std::string& text, const Reader::Each& read) {
  Problems problems("f");
  Reader reader(parse_yaml(text, problems), "", problems);
  read(reader);
  reader.finish();
  return problems.empty() ? "" : problems.error().message();
}

TEST(Reader, FlagsAndNumbers) {
  EXPECT_EQ(problems_of("a: true\nb: 'false'\nc: 17\nd: 0x11\ne: -1\nf: 18446744073709551616\n"
                        "g: [1]\nh: yes\n",
                        [](Reader& file) {
                          EXPECT_EQ(file.flag("a"), true);
                          EXPECT_EQ(file.flag("b"), false);
                          EXPECT_EQ(file.number("c", 0, 17), 17u);
                          for (const char* key : {"d", "e", "f", "g"})
                            EXPECT_EQ(file.number(key, 0, 20), std::nullopt) << key;
                          EXPECT_EQ(file.flag("h"), std::nullopt);
                          EXPECT_EQ(file.number("absent", 0, 20), std::nullopt);
                        }),
            "f:4:4: d: \"0x11\" is no whole number from 0 to 20\n"
            "f:5:4: e: \"-1\" is no whole number from 0 to 20\n"
            "f:6:4: f: \"18446744073709551616\" is no whole number from 0 to 20\n"
            "f:7:4: g: must be a number\n"
            "f:8:4: h: \"yes\" is neither true nor false");
}

TEST(Reader, TextsAndPairs) {
  EXPECT_EQ(problems_of("a: [x, y]\nb: x\nc: [x, [y]]\nd: {x: y}\ne: {k: v, 'l m': [w]}\nf:\n",
                        [](Reader& file) {
                          EXPECT_EQ(file.texts("a"), (std::vector<std::string>{"x", "y"}));
                          EXPECT_EQ(file.texts("b"), std::vector<std::string>{"x"});
                          file.texts("c");
                          file.texts("d");
                          std::string all;
                          const auto add = [&all](const Pair& pair) {
                            all += pair.name + "=" + pair.value + ";";
                          };
                          file.pairs("e", add);
                          file.pairs("f", add);
                          EXPECT_EQ(all, "k=v;");
                        }),
            "f:3:8: c[1] must be a text\nf:4:4: d: must be a list of texts\n"
            "f:5:18: e.l m must be a text");
}

TEST(Reader, WhatIsLongIsCut) {
  EXPECT_EQ(problems_of("a: \"" + std::string(70, 'x') + "\"\n",
                        [](Reader& file) { file.number("a", 1, 2); }),
            "f:1:4: a: \"" + std::string(60, 'x') + "...\" is no whole number from 1 to 2");
}

}  // namespace
}  // namespace ioc_exporter
