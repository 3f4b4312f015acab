// The files of functions/, which ship.
#include "functions/preset.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "functions/check.h"
#include "support/value_of.h"

namespace ioc_exporter::functions {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> names_of(const std::vector<Preset>& presets) {
  std::vector<std::string> names;
  for (const Preset& preset : presets) names.push_back(preset.name);
  return names;
}

TEST(Presets, EachFileThatShipsIsUsable) {
  std::size_t files = 0;
  for (const auto& file : std::filesystem::directory_iterator(IOC_EXPORTER_PRESETS)) {
    std::stringstream text;
    text << std::ifstream(file.path()).rdbuf();
    const auto preset = parse_preset(text.str(), file.path().filename());
    EXPECT_EQ(error_of(preset), "");
    EXPECT_FALSE(preset && preset->made_for.empty());
    ++files;
  }
  EXPECT_EQ(shipped_presets().size(), files);
  EXPECT_THAT(names_of(shipped_presets()), ElementsAre("areadetector", "asyn", "autosave",
                                                       "caputlog", "iocsh", "sequencer", "stream"));
}

TEST(Presets, AllOfThemTogetherAreUsable) {
  Options all;
  all.presets = {"none"};  // as if they were the site's own
  for (const Preset& preset : shipped_presets()) {
    all.described.insert(all.described.end(), preset.functions.begin(), preset.functions.end());
    all.walks.insert(all.walks.end(), preset.walks.begin(), preset.walks.end());
  }
  EXPECT_THAT(take_out_unusable(all.described), IsEmpty());
  for (const ListProblem& problem : problems_together(all)) ADD_FAILURE() << problem.line;
  for (const Description& one : all.described) {
    EXPECT_TRUE(one.metrics) << one.name;
    // No name of anybody's is demangled for them: that may take any time.
    EXPECT_NE(one.symbol.kind, Symbol::Kind::cxx) << one.name;
  }
}

TEST(Presets, AreChosenByName) {
  EXPECT_THAT(names_of(value_of(chosen_presets({"auto"}))),
              ElementsAre("areadetector", "asyn", "autosave", "caputlog", "sequencer", "stream"));
  EXPECT_THAT(
      names_of(value_of(chosen_presets({"auto", "iocsh", "asyn"}))),
      ElementsAre("areadetector", "asyn", "autosave", "caputlog", "sequencer", "stream", "iocsh"));
  EXPECT_THAT(names_of(value_of(chosen_presets({"none"}))), IsEmpty());
  EXPECT_THAT(names_of(value_of(chosen_presets({"asyn", "stream"}))),
              ElementsAre("asyn", "stream"));
  const auto alone = value_of(chosen_presets({"areadetector"}));
  ASSERT_EQ(alone[0].walks.size(), 2u);  // names of plugins are those of ports
  EXPECT_EQ(alone[0].walks[0].name, "asyn_ports");
  EXPECT_THAT(alone[0].walks[0].metrics, IsEmpty());
  EXPECT_THAT(error_of(chosen_presets({"asin"})),
              HasSubstr("asin is none of auto, none, areadetector"));
}

TEST(Presets, ProblemsNameTheFile) {
  EXPECT_THAT(error_of(parse_preset("preset: a\nwhere: b\nfunctions: [{name: c}]", "a.yaml")),
              ::testing::AllOf(HasSubstr("a.yaml:1:1: made_for is missing"),
                               HasSubstr("a.yaml:3:13: functions[0]: file is missing")));
}

}  // namespace
}  // namespace ioc_exporter::functions
