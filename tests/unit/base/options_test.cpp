// The table of options, and the reader of YAML that it uses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/option_table.h"
#include "base/yaml_reader.h"
#include "support/value_of.h"

namespace ioc_exporter {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Problems of `text`, read by `read`.
std::string problems_of(const std::string& text, const Reader::Each& read) {
  return error_of(read_yaml(text, "f", read));
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

TEST(Reader, LongTextsAreCut) {
  EXPECT_EQ(problems_of("a: \"" + std::string(70, 'x') + "\"\n",
                        [](Reader& file) {
                          unsigned number = 0;
                          file.set("a", whole_number(number, 1, 2));
                        }),
            "f:1:4: a: \"" + std::string(60, 'x') + "...\" is no whole number from 1 to 2");
}

enum class Format { logfmt, json };

struct Settings {
  bool links = true, causes = false;
  std::uint32_t threads = 8;
  double budget = 2.5;
  milliseconds wait = seconds(90);
  std::string name;
  std::vector<std::string> addresses = {":1", ":2"};
  std::vector<std::uint16_t> ports;
  std::optional<Pattern> include, exclude;
  Format format = Format::logfmt;
};

OptionTable table_of(Settings& s) {
  OptionTable table({"First", "Second"});
  table.add("Second", {{"--wait=DURATION b.wait", "Pause", duration(s.wait, seconds(1))},
                       {"--address=LIST b.addresses", "Where",
                        texts(s.addresses,
                              [](const std::string& word) -> Result<void> {
                                if (word.starts_with(':')) return {};
                                return error_in_words(shown(word) + " has no colon");
                              })},
                       {"--port=LIST", "Ports", whole_numbers(s.ports, 1)}});
  table.add("First",
            {{"--links a.links", "Count", on_off(s.links)},
             {"--causes", "Why", on_off(s.causes)},
             {"--threads=N a.threads", "Most", whole_number(s.threads, 1, 100)},
             {"--budget=PERCENT", "Most", number(s.budget, 0, 10)},
             {"--include=RE a.include", "Only", pattern(s.include), "exclude"},
             {"--exclude=RE a.exclude", "None", pattern(s.exclude)},
             {"--format=FORMAT", "How",
              one_of<Format>(s.format, {{"logfmt", Format::logfmt}, {"json", Format::json}})}});
  return table;
}

const OptionRow& row(const OptionTable& table, const std::string& flag) {
  for (const OptionGroup& group : table.groups())
    for (const OptionRow& row : group.rows)
      if (row.flag == flag) return row;
  throw std::out_of_range(flag);
}

// Reads the sections a and b; returns what is wrong.
std::string set_from_file(const OptionTable& table, const std::string& text) {
  Problems problems("x");
  Reader file(YAML::Load(text), "", problems);
  for (const char* section : {"a", "b"})
    file.section(section, [&](Reader& reader) { table.set_from_file(section, reader); });
  file.finish();
  return problems.empty() ? "" : problems.error().message();
}

std::string refusal(const FlagWords& flags) {
  Settings settings;
  return error_of(table_of(settings).set_from_flags(flags));
}

TEST(OptionTable, ShowsGroupsInTheirOrderDefaultsAndWhatCanBeTurnedOff) {
  Settings settings;
  const OptionTable table = table_of(settings);
  ASSERT_EQ(table.groups().size(), 2u);
  EXPECT_EQ(table.groups()[0].title, "First");
  EXPECT_EQ(table.groups()[1].rows[0].flag, "wait");
  EXPECT_EQ(row(table, "links").value.default_text, "on");
  EXPECT_EQ(row(table, "causes").value.default_text, "");
  EXPECT_EQ(row(table, "threads").value.default_text, "8");
  EXPECT_EQ(row(table, "budget").value.default_text, "2.5");
  EXPECT_EQ(row(table, "wait").value.default_text, "1m30s");
  EXPECT_EQ(row(table, "address").value.default_text, ":1,:2");
  EXPECT_EQ(row(table, "format").value.default_text, "logfmt");
  EXPECT_EQ(row(table, "format").value.choices, (std::vector<std::string>{"logfmt", "json"}));
  EXPECT_EQ(row(table, "links").help_text(), "Count; off: --no-links");
  EXPECT_EQ(row(table, "causes").help_text(), "Why");
  for (const char* flag : {"links", "causes", "format"})
    EXPECT_EQ(row(table, flag).has_no(), flag == std::string("links")) << flag;
}

TEST(OptionTable, OptionsThatAreGoneAreAcceptedAndReportedOnce) {
  Settings settings;
  OptionTable table = table_of(settings);
  std::vector<std::string> reported;
  table.add_gone({{"--rooms=N first.rooms", "use --threads"}, {"first.doors", ""}}, reported);
  EXPECT_EQ(table.groups().size(), 2u);
  EXPECT_EQ(error_of(table.set_from_flags({{"rooms", {"2", "3"}}})), "");
  const auto read = read_yaml("first: {rooms: {a: [1]}, doors: 4}", "site.yml", [&](Reader& file) {
    file.section("first", [&](Reader& section) { table.set_from_file("first", section); });
  });
  EXPECT_EQ(error_of(read), "");
  EXPECT_EQ(error_of(table.set_from_flags({{"set", {"first.doors=1"}}})), "");
  EXPECT_THAT(reported, testing::ElementsAre("--rooms has no effect any more: use --threads",
                                             "first.doors has no effect any more"));
}

TEST(OptionTable, FlagsStandAboveTheFileAndTheFileAboveDefaults) {
  Settings settings;
  const OptionTable table = table_of(settings);
  EXPECT_EQ(set_from_file(table, "a: {links: false, threads: 11}\nb: {addresses: [':3', ':4']}\n"),
            "");
  EXPECT_FALSE(settings.links);
  EXPECT_EQ(settings.threads, 11u);
  EXPECT_EQ(settings.addresses, (std::vector<std::string>{":3", ":4"}));
  ASSERT_TRUE(table.set_from_flags({{"threads", {"13"}},
                                    {"address", {":5"}},
                                    {"port", {"17", "19"}},
                                    {"causes", {"true"}},
                                    {"budget", {"0.5"}},
                                    {"format", {"json"}}}));
  EXPECT_EQ(settings.threads, 13u);
  EXPECT_EQ(settings.addresses, std::vector<std::string>{":5"});
  EXPECT_EQ(settings.ports, (std::vector<std::uint16_t>{17, 19}));
  EXPECT_TRUE(settings.causes);
  EXPECT_EQ(settings.budget, 0.5);
  EXPECT_EQ(settings.format, Format::json);
  EXPECT_FALSE(settings.links);           // as the file says
  EXPECT_EQ(settings.wait, seconds(90));  // as nobody says
}

TEST(OptionTable, AFlagMayOverrideAnotherKeyOfTheFile) {
  Settings settings;
  const OptionTable table = table_of(settings);
  EXPECT_EQ(set_from_file(table, "a: {include: 'A.*', exclude: 'B.*'}\n"), "");
  ASSERT_TRUE(settings.include && settings.exclude);
  ASSERT_TRUE(table.set_from_flags({{"exclude", {"C.*"}}}));
  EXPECT_FALSE(settings.include);
  EXPECT_EQ(settings.exclude->text(), "C.*");
  ASSERT_TRUE(table.set_from_flags({{"exclude", {""}}}));
  EXPECT_FALSE(settings.exclude);
}

TEST(OptionTable, WrongFlagsAreNamed) {
  for (const std::string text : {"0", "1x"})
    EXPECT_EQ(refusal({{"threads", {text}}}),
              "--threads: \"" + text + "\" is no whole number from 1 to 100");
  EXPECT_EQ(refusal({{"budget", {"nan"}}}), "--budget: \"nan\" is no number from 0 to 10");
  EXPECT_EQ(refusal({{"port", {"5", "65536"}}}),
            "--port: \"65536\" is no whole number from 1 to 65535");
  EXPECT_EQ(refusal({{"wait", {"500ms"}}}), "--wait: must be at least 1s");
  EXPECT_EQ(refusal({{"include", {"("}}}), "--include: regular expression \"(\": missing ): (");
  EXPECT_EQ(refusal({{"address", {":1", "x"}}}), "--address: \"x\" has no colon");
  EXPECT_EQ(refusal({{"format", {"xml"}}}), "--format: \"xml\" is none of logfmt, json");
}

TEST(OptionTable, WrongValuesOfTheFileAreToldWithTheirPlaces) {
  Settings settings;
  EXPECT_EQ(set_from_file(table_of(settings),
                          "a: {links: maybe, threads: 101, include: [x]}\n"
                          "b:\n  addresses: [':3', x]\n  wait: {}\n  other: 1\n"),
            "x:1:12: a.links: \"maybe\" is neither true nor false\n"
            "x:1:28: a.threads: \"101\" is no whole number from 1 to 100\n"
            "x:1:42: a.include: must be a regular expression\n"
            "x:3:21: b.addresses[1]: \"x\" has no colon\n"
            "x:4:9: b.wait: must be a duration such as 90s\n"
            "x:5:3: b.other: no such key");
  EXPECT_EQ(settings.threads, 8u);
}

}  // namespace
}  // namespace ioc_exporter
