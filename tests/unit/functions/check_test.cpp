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
using ::testing::SizeIs;

std::vector<std::string> problems(const std::string& text,
                                  std::vector<std::string> presets = {"auto"}) {
  Options options;
  options.presets = std::move(presets);
  const auto good = read_yaml(text, "test.yml", [&](Reader& file) {
    read_functions(file, options.described);
    read_walks(file, options.walks);
  });
  EXPECT_EQ(error_of(good), "");
  std::vector<std::string> lines;
  for (const ListProblem& problem : problems_together(options)) lines.push_back(problem.line);
  return lines;
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

// A histogram has series of its own, and OpenMetrics names a counter's family without _total.
TEST(FunctionsCheck, NoSeriesIsOfTwoFamilies) {
  const auto with = [](const std::string& durations, const std::string& calls) {
    return problems(call("records", ", timed: true, metrics: {calls: epics_site_" + calls +
                                        ", calls_help: C., durations: epics_site_" + durations +
                                        ", durations_help: D.}") +
                    kThings);
  };
  for (const std::string end : {"count", "sum", "bucket", "created"})
    EXPECT_THAT(with("x", "x_" + end),
                ElementsAre("describe function call: epics_site_x has epics_site_x_" + end +
                            " on the page, which is of epics_site_x_" + end + " too"));
  EXPECT_THAT(with("x", "x_total"), SizeIs(1));
  EXPECT_THAT(with("x", "thing_total"),
              ElementsAre("describe function call: epics_site_thing_total has epics_site_thing on "
                          "the page, which is of epics_site_thing too"));
  EXPECT_THAT(with("x", "x_counts"), IsEmpty());
}

}  // namespace
}  // namespace ioc_exporter::functions
