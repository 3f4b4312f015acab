#include "functions/known_names.h"

#include <utility>

#include "exposition/limited_series.h"

namespace ioc_exporter::functions {

void KnownNames::follow(const iocs::Host& host) {
  std::map<std::string, Life> lives;
  for (const auto& [id, live] : host.live()) {
    Life life{id, live.initialized ? live.database : nullptr};
    if (const auto before = lives_.find(live.ioc.name);
        before != lives_.end() && before->second.database == life.database)
      life.records = std::move(before->second.records);
    lives[live.ioc.name] = std::move(life);
  }
  lives_ = std::move(lives);
  const auto names = host.known_names();
  std::erase_if(decided_, [&](const auto& one) { return !names.contains(std::get<0>(one.first)); });
}

void KnownNames::apply(std::vector<FunctionSample>& samples, const WalkWatch& walks) {
  unknown_ = 0;
  std::erase_if(samples, [&](FunctionSample& sample) {
    bool is_unknown = false;
    for (auto& [label, value] : sample.labels) {
      const auto among = sample.description->among.find(label);
      if (among == sample.description->among.end() || value.empty() || value == exposition::kOther)
        continue;
      const Answer answer = decide(sample.ioc, among->second, label, value, walks);
      if (answer == Answer::not_sure) return true;
      if (answer == Answer::no) value.clear();
      is_unknown |= answer == Answer::no;
    }
    if (is_unknown) unknown_ += sample.calls;
    return false;
  });
}

KnownNames::Answer KnownNames::decide(const std::string& ioc, const std::string& among,
                                      const std::string& label, const std::string& value,
                                      const WalkWatch& walks) {
  const std::tuple key{ioc, among, label, value};
  if (const auto known = decided_.find(key); known != decided_.end())
    return known->second ? Answer::yes : Answer::no;
  const Answer answer = ask(ioc, among, label, value, walks);
  if (answer != Answer::not_sure) decided_[key] = answer == Answer::yes;
  return answer;
}

KnownNames::Answer KnownNames::ask(const std::string& ioc, const std::string& among,
                                   const std::string& label, const std::string& value,
                                   const WalkWatch& walks) {
  const auto life = lives_.find(ioc);
  if (life == lives_.end()) return Answer::not_sure;
  if (among != "records") return walks.knows(life->second.id, among, label, value);
  if (!life->second.database) return Answer::not_sure;
  if (!life->second.records)
    life->second.records = std::make_unique<iocs::RecordNames>(life->second.database);
  return life->second.records->find(value) != nullptr ? Answer::yes : Answer::no;
}

}  // namespace ioc_exporter::functions
