#include "base/yaml_reader.h"

#include <gtest/gtest.h>

namespace ioc_exporter {
namespace {

// What is wrong with `text`, read by `read`.
std::string problems_of(const std::string& text, const Reader::Each& read) {
  const auto good = read_yaml(text, "f", read);
  return good ? "" : good.error().message();
}

TEST(Reader, FlagsAndNumbers) {
  EXPECT_EQ(problems_of("a: true\nb: 'false'\nc: 17\nd: 0x11\ne: -1\nf: 18446744073709551616\n"
                        "g: [1]\nh: yes\n",
                        [](Reader& file) {
                          bool on = false, off = true;
                          unsigned number = 3;
                          file.set("a", on_off(on));
                          file.set("b", on_off(off));
                          file.set("absent", whole_number(number, 0, 20));
                          EXPECT_TRUE(on && !off && number == 3);
                          for (const char* key : {"c", "d", "e", "f", "g"})
                            file.set(key, whole_number(number, 0, 20));
                          EXPECT_EQ(number, 17u);
                          file.set("h", on_off(on));
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
                        [](Reader& file) {
                          unsigned number = 0;
                          file.set("a", whole_number(number, 1, 2));
                        }),
            "f:1:4: a: \"" + std::string(60, 'x') + "...\" is no whole number from 1 to 2");
}

}  // namespace
}  // namespace ioc_exporter
