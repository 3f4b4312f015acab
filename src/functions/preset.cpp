#include "functions/preset.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "base/option_table.h"
#include "base/yaml_reader.h"

namespace ioc_exporter::functions {
namespace {

struct ShippedFile {
  const char *name, *text;
};
constexpr ShippedFile kShippedFiles[] = {
#include "presets.inc"
};

}  // namespace

Result<Preset> parse_preset(const std::string& text, const std::string& name) {
  Preset preset;
  const auto read = [&preset](Reader& file) {
    if (file.require("preset")) preset.name = file.text("preset").value_or("");
    if (file.require("made_for")) preset.made_for = file.text("made_for").value_or("");
    if (file.require("where")) file.set("where", pattern(preset.where));
    file.set("auto", on_off(preset.in_auto));
    read_functions(file, preset.functions, "epics_");
    read_walks(file, preset.walks, "epics_");
  };
  if (auto good = read_yaml(text, name, read); !good) return good.error();
  for (Description& one : preset.functions) one.where = preset.where;
  return preset;
}

const std::vector<Preset>& shipped_presets() {
  static const std::vector<Preset> all = [] {
    std::vector<Preset> presets;
    for (const ShippedFile& file : kShippedFiles)
      if (auto preset = parse_preset(file.text, file.name)) presets.push_back(std::move(*preset));
    std::ranges::sort(presets, {}, &Preset::name);
    return presets;
  }();
  return all;
}

Result<std::vector<Preset>> chosen_presets(const std::vector<std::string>& names) {
  const std::vector<Preset>& all = shipped_presets();
  std::vector<Preset> chosen;
  for (const std::string& name : names) {
    if (name == "none") continue;
    if (name == "auto") {
      std::ranges::copy_if(all, std::back_inserter(chosen), &Preset::in_auto);
      continue;
    }
    const auto found = std::ranges::find(all, name, &Preset::name);
    if (found == all.end()) {
      std::string known = "auto, none";
      for (const Preset& preset : all) known += ", " + preset.name;
      return error_in_words(name + " is none of " + known);
    }
    if (std::ranges::find(chosen, name, &Preset::name) == chosen.end()) chosen.push_back(*found);
  }
  // Walks that their `among` names are read also where the walk's own preset is not chosen.
  std::set<std::string> needed;
  for (const Preset& preset : chosen)
    for (const Description& one : preset.functions)
      for (const auto& [label, walk] : one.among) needed.insert(walk);
  std::vector<Walk> others;
  for (const Preset& other : all)
    for (Walk walk : other.walks)
      if (needed.contains(walk.name) &&
          std::ranges::find(chosen, other.name, &Preset::name) == chosen.end()) {
        walk.metrics.clear();
        others.push_back(std::move(walk));
      }
  if (!chosen.empty()) std::ranges::move(others, std::back_inserter(chosen.back().walks));
  return chosen;
}

}  // namespace ioc_exporter::functions
