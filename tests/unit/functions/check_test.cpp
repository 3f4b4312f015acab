// Descriptions, walks and presets together.
#include "functions/check.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "base/yaml_reader.h"
#include "support/value_of.h"

namespace ioc_exporter::functions {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> problems(const std::string& text,
                                  std::vector<std::string> presets = {"auto"}) {
  Options options;
  options.presets = std::move(presets);
  const auto good = read_yaml(text, "test.yml", [&](Reader& file) {
    read_functions(file, options.described);
    read_walks(file, options.walks);
  });
  EXPECT_EQ(error_of(good), "");
  return problems_together(options);
}

constexpr const char* kThings = R"(
walks:
  - name: things
    file: lib
    each: [{item: thing, first: '[list]', next: '[thing]'}]
    labels: {port: '[thing+8] -> string[16]'}
    metrics: [{name: epics_site_thing, help: Things.}]
)";

std::string call(const std::string& among, const std::string& more = "") {
  return "functions: [{name: call, file: lib, symbol: f, labels: {port: 'arg0 -> string[16]'}, "
         "among: {port: " +
         among + "}" + more + "}]\n";
}

TEST(FunctionsCheck, AmongNamesAWalkThatHasTheLabel) {
  EXPECT_THAT(problems(call("things") + kThings), IsEmpty());
  EXPECT_THAT(problems(call("records")), IsEmpty());
  EXPECT_THAT(problems(call("asyn_ports")), IsEmpty());
  EXPECT_THAT(problems(call("asyn_ports"), {"none"}),
              ElementsAre("describe function call: among: there is no walk asyn_ports for label "
                          "port"));
  EXPECT_THAT(problems(call("thing") + kThings),
              ElementsAre("describe function call: among: there is no walk thing for label port"));
  EXPECT_THAT(problems(call("autosave_sets")),
              ElementsAre("describe function call: among: walk autosave_sets has no label port"));
}

TEST(FunctionsCheck, WalksOfOneNameHaveTheSameLabels) {
  const auto one = [](const std::string& name, const std::string& label) {
    return "{name: " + name + ", file: f, each: [{item: i, first: '[v]', next: '[i]'}], labels: {" +
           label + ": '[i+8] -> string[16]'}, metrics: [{name: epics_site_i, help: I.}]}";
  };
  EXPECT_THAT(problems("walks: [" + one("a", "x") + ", " + one("a", "x") + "]"), IsEmpty());
  EXPECT_THAT(problems("walks: [" + one("a", "x") + ", " + one("a", "y") + "]"),
              ElementsAre("walk a: another walk of this name has other labels"));
  EXPECT_THAT(problems("walks: [" + one("asyn_ports", "port") + "]"),
              ElementsAre("walk asyn_ports: a preset's walk has this name"));
}

TEST(FunctionsCheck, AFamilyHasOneTypeAndOneHelp) {
  const auto with = [](const std::string& metrics) {
    return problems(call("records", ", timed: true, metrics: {" + metrics + "}") + kThings);
  };
  EXPECT_THAT(with("calls: epics_site_calls_total, calls_help: Calls."), IsEmpty());
  EXPECT_THAT(with("calls: epics_site_thing, calls_help: Things."),
              ElementsAre("describe function call: epics_site_thing is a counter here, and a gauge "
                          "elsewhere"));
  EXPECT_THAT(with("calls: epics_site_c, calls_help: C., durations: epics_site_c, durations_help: "
                   "C."),
              ElementsAre("describe function call: epics_site_c is a histogram here, and a counter "
                          "elsewhere"));
  const std::string other =
      "walks: [{name: a, file: f, each: [{item: i, first: '[v]', next: '[i]'}], metrics: "
      "[{name: epics_site_i, help: I.}, {name: epics_site_i, help: J.}]}]";
  EXPECT_THAT(problems(other), ElementsAre("walk a: epics_site_i has another help text elsewhere"));
}

}  // namespace
}  // namespace ioc_exporter::functions
