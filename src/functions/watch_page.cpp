// Output of FunctionWatch: samples, and the page's table of functions.
#include "functions/watch.h"

namespace ioc_exporter::functions {

std::vector<WatchedSample> FunctionWatch::watched(const IocNames& names) const {
  std::vector<WatchedSample> samples;
  for (const auto& [key, is_counted] : counted_)
    if (const auto ioc = names.find(key.first); ioc != names.end())
      samples.push_back({ioc->second, (*descriptions_)[key.second].name, is_counted});
  return samples;
}

void FunctionWatch::add_overhead(SelfSamples& self) const {
  for (const auto& [id, life] : lives_) {
    if (life.files.empty()) continue;
    double seconds = life.spent_before;
    for (const auto& [place, spent] : life.spent) seconds += spent;
    self.ioc_overhead.push_back({life.ioc.name, kProbe, seconds});
  }
}

std::string FunctionWatch::state_of(const Life& life, const Place& place, bool is_stepped) const {
  if (life.refused.contains(place)) return probes::kNoRoom;
  const probes::Member member{life.ioc.id, place};
  if (engine_.counted_by(member) == 0) return engine_.why_not(member);
  return is_stepped ? "counted, single-stepped" : "counted";
}

std::vector<FunctionState> FunctionWatch::states() const {
  std::map<std::pair<Place, std::string>, FunctionState> all;
  std::map<std::tuple<std::string, std::string, std::string, std::string>, std::size_t> iocs;
  for (const auto& [id, life] : lives_) {
    std::set<Place> counted;
    for (const FileInIoc& file : life.files)
      for (const DescribedFunction& found : file.file->functions) {
        const Place place = place_of(file, found);
        const bool is_stepped = file.file->code->entry(place.offset).stepped;
        FunctionState& state = all[{place, state_of(life, place, is_stepped)}];
        const std::string& name = (*descriptions_)[found.description].name;
        if (state.name.find(name) == std::string::npos)
          state.name += (state.name.empty() ? "" : ", ") + name;
        state.file = file.file->path;
        state.symbol = found.symbol;
        if (counted.insert(place).second) ++state.iocs;
      }
    for (const FunctionState& one : problems_of(life))
      ++iocs[{one.name, one.file, one.symbol, one.state}];
  }
  for (const auto& [key, state] : all)
    iocs[{state.name, state.file, state.symbol, key.second}] += state.iocs;
  std::vector<FunctionState> states;
  for (const auto& [key, count] : iocs)
    states.push_back(
        {std::get<0>(key), std::get<1>(key), std::get<2>(key), std::get<3>(key), count});
  return states;
}

// A function that is found in another file of the IOC is not missing.
std::vector<FunctionState> FunctionWatch::problems_of(const Life& life) const {
  std::map<std::uint32_t, const DescribedFile*> found;
  for (const FileInIoc& file : life.files)
    for (const DescribedFunction& one : file.file->functions)
      found[one.description] = file.file.get();
  std::vector<FunctionState> problems;
  for (const FileProblem& unread : life.unread)
    problems.push_back({unread.names, unread.mapped.path, "", unread.problem, 1});
  for (const FileInIoc& file : life.files)
    for (const auto& [index, problem] : file.file->problems) {
      const Description& one = (*descriptions_)[index];
      if (one.symbol.kind == Symbol::Kind::pointer) continue;  // FunctionsFound::problems
      const auto elsewhere = found.find(index);
      if (elsewhere == found.end() || elsewhere->second == file.file.get())
        problems.push_back({one.name, file.file->path, one.symbol.text, problem, 1});
    }
  return problems;
}

}  // namespace ioc_exporter::functions
