// Presets: descriptions that ship, of modules that many IOCs have: functions/*.yaml. Each is used
// in IOCs that map a file as the preset says, and costs nothing elsewhere.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/pattern.h"
#include "base/result.h"
#include "functions/description.h"
#include "functions/walk.h"

namespace ioc_exporter::functions {

struct Preset {
  std::string name;
  std::string made_for;  // version of the module
  std::optional<Pattern> where;
  bool in_auto = true;  // off for one whose file every IOC has
  Descriptions functions;
  std::vector<Walk> walks;
};

// The error holds all problems of the text, a line each. `name` is for messages.
Result<Preset> parse_preset(const std::string& text, const std::string& name);

// Those that ship, sorted by name.
const std::vector<Preset>& shipped_presets();

// "auto" stands for those that are in it, "none" for none; else names, each of one that ships.
Result<std::vector<Preset>> chosen_presets(const std::vector<std::string>& names);

}  // namespace ioc_exporter::functions
