#include "functions/check.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "functions/preset.h"

namespace ioc_exporter::functions {

namespace {

// Names on the page that a family takes, in each of its formats.
std::vector<std::string> names_taken(const std::string& name, const std::string& type) {
  constexpr std::string_view kTotal = "_total";
  if (type == "a histogram")
    return {name, name + "_bucket", name + "_sum", name + "_count", name + "_created"};
  if (type != "a counter" || !name.ends_with(kTotal)) return {name};
  const std::string family = name.substr(0, name.size() - kTotal.size());
  return {name, family, family + "_created"};
}

struct KnownFamily {
  std::string type, help;
};

// The site's families, each of one type and help text, and no two with a name on the page.
class KnownFamilies {
 public:
  // The problem; "" = none.
  std::string add(const OwnFamily& family, const std::string& type) {
    const auto [known, is_new] = families_.try_emplace(family.name, KnownFamily{type, family.help});
    const auto& [name, facts] = *known;
    if (facts.type != type) return name + " is " + type + " here, and " + facts.type + " elsewhere";
    if (facts.help != family.help) return name + " has another help text elsewhere";
    if (!is_new) return "";
    for (const std::string& taken : names_taken(name, type))
      if (const auto owner = owners_.try_emplace(taken, name).first; owner->second != name)
        return name + " has " + taken + " on the page, which is of " + owner->second + " too";
    return "";
  }

 private:
  std::map<std::string, KnownFamily> families_;
  std::map<std::string, std::string> owners_;  // by name on the page
};

}  // namespace

std::vector<ListProblem> problems_together(const Options& options) {
  std::vector<ListProblem> problems;
  KnownFamilies families;
  const auto add = [&](const auto& complain, const std::optional<OwnFamily>& family,
                       const std::string& type) {
    const std::string problem = family ? families.add(*family, type) : "";
    if (!problem.empty()) complain(problem);
  };
  std::map<std::string, Walk> walks;
  std::set<std::string> of_presets;
  if (const auto presets = chosen_presets(options.presets))
    for (const Preset& preset : *presets)
      for (const Walk& walk : preset.walks)
        if (walks.emplace(walk.name, walk).second) of_presets.insert(walk.name);
  for (std::size_t i = 0; i < options.walks.size(); ++i) {
    const Walk& walk = options.walks[i];
    const auto complain = [&](const std::string& what) {
      problems.push_back({"walks", i, "walk " + walk.name + ": " + what});
    };
    const Walk& known = walks.emplace(walk.name, walk).first->second;
    if (of_presets.contains(walk.name))
      complain("a preset's walk has this name");
    else if (!std::ranges::equal(known.labels, walk.labels, {}, &WalkLabel::name, &WalkLabel::name))
      complain("another walk of this name has other labels");
    for (const WalkMetric& metric : walk.metrics)
      add(complain, OwnFamily{metric.name, metric.help}, metric.counter ? "a counter" : "a gauge");
  }
  for (std::size_t i = 0; i < options.described.size(); ++i) {
    const Description& one = options.described[i];
    const auto complain = [&](const std::string& what) {
      problems.push_back({"functions", i, "describe function " + one.name + ": " + what});
    };
    for (const auto& [label, walk] : one.among) {
      const auto found = walks.find(walk);
      if (walk == "records") continue;
      if (found == walks.end())
        complain("among: there is no walk " + walk + " for label " + label);
      else if (std::ranges::find(found->second.labels, label, &WalkLabel::name) ==
               found->second.labels.end())
        complain("among: walk " + walk + " has no label " + label);
    }
    if (!one.metrics) continue;
    for (const auto* const family :
         {&one.metrics->calls, &one.metrics->failures, &one.metrics->results})
      add(complain, *family, "a counter");
    add(complain, one.metrics->durations, "a histogram");
  }
  return problems;
}

}  // namespace ioc_exporter::functions
