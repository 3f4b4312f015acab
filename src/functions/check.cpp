#include "functions/check.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "functions/preset.h"

namespace ioc_exporter::functions {

std::vector<std::string> problems_together(const Options& options) {
  std::vector<std::string> lines;
  std::map<std::string, std::pair<std::string, std::string>> families;  // what it is, and its HELP
  const auto add = [&](const std::string& of, const std::optional<OwnFamily>& family,
                       const std::string& type) {
    if (!family) return;
    const auto& known = families.try_emplace(family->name, type, family->help).first->second;
    if (known.first != type)
      lines.push_back(of + family->name + " is " + type + " here, and " + known.first +
                      " elsewhere");
    else if (known.second != family->help)
      lines.push_back(of + family->name + " has another help text elsewhere");
  };
  std::map<std::string, Walk> walks;
  std::set<std::string> of_presets;
  if (const auto presets = chosen_presets(options.presets))
    for (const Preset& preset : *presets)
      for (const Walk& walk : preset.walks)
        if (walks.emplace(walk.name, walk).second) of_presets.insert(walk.name);
  for (const Walk& walk : options.walks) {
    const std::string of = "walk " + walk.name + ": ";
    const Walk& known = walks.emplace(walk.name, walk).first->second;
    if (of_presets.contains(walk.name))
      lines.push_back(of + "a preset's walk has this name");
    else if (!std::ranges::equal(known.labels, walk.labels, {}, &WalkLabel::name, &WalkLabel::name))
      lines.push_back(of + "another walk of this name has other labels");
    for (const WalkMetric& metric : walk.metrics)
      add(of, OwnFamily{metric.name, metric.help}, metric.counter ? "a counter" : "a gauge");
  }
  for (const Description& one : options.described) {
    const std::string of = "describe function " + one.name + ": ";
    for (const auto& [label, walk] : one.among) {
      const auto found = walks.find(walk);
      if (walk == "records") continue;
      if (found == walks.end())
        lines.push_back(of + "among: there is no walk " + walk + " for label " + label);
      else if (std::ranges::find(found->second.labels, label, &WalkLabel::name) ==
               found->second.labels.end())
        lines.push_back(of + "among: walk " + walk + " has no label " + label);
    }
    if (!one.metrics) continue;
    for (const auto* const family :
         {&one.metrics->calls, &one.metrics->failures, &one.metrics->results})
      add(of, *family, "a counter");
    add(of, one.metrics->durations, "a histogram");
  }
  return lines;
}

}  // namespace ioc_exporter::functions
