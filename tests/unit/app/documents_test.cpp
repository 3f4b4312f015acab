// Documents and help say what the code has.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <regex>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "app/options.h"
#include "app/pages.h"
#include "app/site_config.h"
#include "functions/preset.h"
#include "sample_snapshot.h"
#include "scrape_parser.h"
#include "shared/ca_tap.h"
#include "shared/ca_udp.h"
#include "shared/functions.h"
#include "shared/record_process.h"
#include "shared/server_probe.h"
#include "shared/traces.h"
#include "support/value_of.h"

namespace ioc_exporter::app {
namespace {

// docs/config.example.yml: above kEnd each key of the option table with its default, commented out.

const std::string kEnd = "# Keys without a flag";

std::string all_keys(const OptionTable& table) {
  std::vector<std::pair<std::string, std::string>> sections;  // heading, keys
  for (const OptionGroup& group : table.groups())
    for (const OptionRow& row : group.rows) {
      if (row.key.empty()) continue;
      const std::size_t dot = row.key.find('.');
      const bool nested = dot != std::string::npos;
      const std::string heading = nested ? "#" + row.key.substr(0, dot) + ":\n" : "";
      auto at = std::ranges::find(sections, heading, [](const auto& one) { return one.first; });
      if (at == sections.end()) at = sections.insert(at, {heading, ""});
      const bool is_list = row.value.takes == OptionValue::Takes::several ||
                           row.value.takes == OptionValue::Takes::lines;
      std::string value = row.value.default_text;
      if (is_list) value = "[" + value + "]";
      if (!row.takes_argument()) value = value.empty() ? "false" : "true";
      at->second += (nested ? "#  " + row.key.substr(dot + 1) : "#" + row.key) + ":" +
                    (value.empty() ? "" : " ") + value + "  # " + row.help + "\n";
    }
  std::string text;
  for (const auto& [heading, keys] : sections) text += heading + keys + "\n";
  return text;
}

std::string example() {
  std::ifstream file(IOC_EXPORTER_CONFIG_EXAMPLE);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(OptionReference, ExampleHasEveryKey) {
  const std::string file = example();
  const std::size_t begin = file.find("\n\n") + 2, end = file.find(kEnd);
  ASSERT_LT(begin, end);
  Options options;
  const std::string expected =
      file.substr(0, begin) + all_keys(option_table(options)) + file.substr(end);
  if (std::getenv("IOC_EXPORTER_REWRITE_DOCS") != nullptr)
    std::ofstream(IOC_EXPORTER_CONFIG_EXAMPLE) << expected;
  else
    EXPECT_EQ(file, expected) << "rewrite it: IOC_EXPORTER_REWRITE_DOCS=1 build/tests/unit/app/"
                                 "unit_app --gtest_filter='OptionReference.*'";
}

// Text is "# " and a word, anything else behind a # is YAML. Keys without a value are left out.
std::string uncommented(const std::string& text) {
  std::string yaml, line;
  for (std::istringstream lines(text); std::getline(lines, line);)
    if (line.find(":  # ") == std::string::npos &&
        (!line.starts_with("# ") || line.starts_with("#  ")))
      yaml += (line.starts_with("#") ? line.substr(1) : line) + "\n";
  return yaml;
}

TEST(OptionReference, ExampleIsValidAsItIsAndWithoutItsComments) {
  const std::string file = example();
  value_of(read_config(IOC_EXPORTER_CONFIG_EXAMPLE));
  const std::size_t end = file.find(kEnd);
  value_of(parse_config(uncommented(file.substr(0, end)), "keys"));
  Options options;
  const auto each_bound = [&options](auto use) {
    for (const exposition::LimitKind& kind : exposition::kLimitKinds)
      for (const auto bound : {&exposition::SeriesLimit::series, &exposition::SeriesLimit::per_ioc,
                               &exposition::SeriesLimit::per_client})
        if (const std::size_t usual = Options().limits.*kind.limit.*bound;
            usual != exposition::SeriesLimit::kNone)
          use(options.limits.*kind.limit.*bound, usual, kind.name);
  };
  each_bound([](std::size_t& bound, std::size_t, const char*) { bound = 1; });
  options = value_of(parse_config(uncommented(file.substr(end)), "others", options));
  each_bound([](std::size_t bound, std::size_t usual, const char* name) {
    EXPECT_EQ(bound, usual) << name;
  });
  EXPECT_EQ(options.records.groups.size(), 2u);
}

// docs/metrics.md and the encoder name the same families, with the same types and labels.

struct Row {
  std::string type;
  std::set<std::string> labels;

  bool operator==(const Row&) const = default;
  friend void PrintTo(const Row& row, std::ostream* out) {
    *out << row.type << " " << testing::PrintToString(row.labels);
  }
};

using Reference = std::map<std::string, Row>;

// Rows "| `name{label,label}` | type |" of all tables, with a note where HELP does not say all.
Reference read_reference() {
  static const std::regex row(R"(\| `(\w+)(?:\{([\w,]*)\})?` \| (\w+) \|(?: .* \|)?)");
  Reference reference;
  std::string line, label;
  for (std::ifstream file(IOC_EXPORTER_METRIC_REFERENCE); std::getline(file, line);) {
    if (!line.starts_with("| `")) continue;
    std::smatch parts;
    EXPECT_TRUE(std::regex_match(line, parts, row)) << line;
    Row facts{parts[3].str(), {}};
    for (std::istringstream labels(parts[2].str()); std::getline(labels, label, ',');)
      facts.labels.insert(label);
    EXPECT_TRUE(reference.emplace(parts[1].str(), facts).second) << line;
  }
  return reference;
}

// Families of presets, by their files.
Reference of_presets() {
  Reference families;
  const auto add = [&](const std::optional<functions::OwnFamily>& family, const std::string& type,
                       std::set<std::string> labels) {
    if (family) families[family->name] = {type, std::move(labels)};
  };
  for (const functions::Preset& preset : functions::shipped_presets()) {
    for (const functions::Description& one : preset.functions) {
      std::set<std::string> labels{"ioc"};
      for (const auto& label : one.labels)
        if (!one.only.contains(label.name)) labels.insert(label.name);
      add(one.metrics->calls, "counter", labels);
      add(one.metrics->durations, "histogram", labels);
      labels.insert("result");
      add(one.metrics->failures, "counter", labels);
      add(one.metrics->results, "counter", labels);
    }
    for (const functions::Walk& walk : preset.walks)
      for (const functions::WalkMetric& metric : walk.metrics) {
        std::set<std::string> labels{"ioc"};
        for (const auto* all : {&walk.labels, &metric.labels})
          for (const auto& label : *all) labels.insert(label.name);
        families[metric.name] = {metric.counter ? "counter" : "gauge", labels};
      }
  }
  return families;
}

TEST(Reference, HasTheServedFamilies) {
  Reference served = of_presets();
  for (const auto& [name, family] : parse_scrape(render_text(sample_snapshot(), sample_exporter())))
    served[name] = {family.type, family.label_names()};
  EXPECT_EQ(read_reference(), served);
}

// Those are for the operator of the exporter; one more takes the place of another.
TEST(Reference, FamiliesAboutTheExporterAreAtMost35) {
  const auto is_its_own = [](const auto& row) { return row.first.starts_with("ioc_exporter_"); };
  EXPECT_LE(std::ranges::count_if(read_reference(), is_its_own), 35);
}

// docs/drops.md says of each probe and reason what is lost and what to do.

using Reasons = std::set<std::pair<std::string, std::string>>;

// Rows "| `probe` | `reason` | ...".
Reasons documented() {
  Reasons reasons;
  std::string line;
  for (std::ifstream file(IOC_EXPORTER_DROPS); std::getline(file, line);)
    if (std::size_t bar = line.find("` | `"); line.starts_with("| `") && bar != std::string::npos)
      reasons.emplace(line.substr(3, bar - 3),
                      line.substr(bar + 5, line.find('`', bar + 5) - bar - 5));
  return reasons;
}

TEST(DropReasons, AreDocumented) {
  Reasons reasons{{"ca_server_probe", "unnamed"},
                  {"ca_inventory", "unreadable"},
                  {"putlog", "full"},
                  {"putlog", "lost"},
                  {"delivery", "restart"},
                  {"log", "full"}};
  const auto add = [&reasons](const char* probe, std::span<const char* const> causes) {
    for (const char* reason : causes)
      if (*reason != '\0') reasons.emplace(probe, reason);
  };
  add("record_process", iocx_record_drop_labels);
  add("ca_tap", iocx_ca_drop_labels);
  add("ca_udp", iocx_ca_udp_drop_labels);
  add("ca_server_probe", iocx_server_drop_labels);
  add("pva_server_probe", std::span(iocx_server_drop_labels).first(IOCX_PVA_DROPS));
  add("traces", iocx_trace_drop_labels);
  add("functions", iocx_function_drop_labels);
  EXPECT_EQ(documented(), reasons);
  EXPECT_LE(reasons.size(), 30u) << "an operator reads them";
}

// Alerts link to /runbooks/NAME of an exporter.

TEST(Runbooks, AreThoseOfTheDocuments) {
  std::map<std::string, std::string> documented, served;
  const auto folder = std::filesystem::path(IOC_EXPORTER_DROPS).parent_path() / "runbooks";
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    std::ostringstream text;
    text << std::ifstream(file.path()).rdbuf();
    documented[file.path().stem()] = text.str();
  }
  for (const Runbook& page : runbooks()) served[std::string(page.name)] = page.text;
  EXPECT_GT(documented.size(), 30u);
  EXPECT_EQ(served, documented);
}

}  // namespace
}  // namespace ioc_exporter::app
