#include "functions/preset.h"

#include <algorithm>
#include <iterator>

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
  if (names == std::vector<std::string>{"auto"}) return all;
  std::vector<Preset> chosen;
  for (const std::string& name : names) {
    if (name == "none") continue;
    const auto found = std::ranges::find(all, name, &Preset::name);
    if (found == all.end()) {
      std::string known = "auto, none";
      for (const Preset& preset : all) known += ", " + preset.name;
      return error_in_words(name + " is none of " + known);
    }
    chosen.push_back(*found);
  }
  // Walks that their `among` names are read also where the walk's own preset is not chosen.
  std::vector<Walk> needed;
  for (const Preset& preset : chosen)
    for (const Description& one : preset.functions)
      for (const auto& [label, walk] : one.among)
        for (const Preset& other : all)
          for (Walk found : other.walks)
            if (found.name == walk &&
                std::ranges::find(chosen, other.name, &Preset::name) == chosen.end() &&
                std::ranges::find(needed, walk, &Walk::name) == needed.end()) {
              found.metrics.clear();
              needed.push_back(std::move(found));
            }
  if (!chosen.empty()) std::ranges::move(needed, std::back_inserter(chosen.back().walks));
  return chosen;
}

}  // namespace ioc_exporter::functions
