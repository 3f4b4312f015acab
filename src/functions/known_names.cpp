#include "functions/known_names.h"

#include <utility>

#include "exposition/limited_series.h"

namespace ioc_exporter::functions {
namespace {

// `factor`: 1, or the number that takes it off.
void add(FunctionSample& to, const FunctionSample& other, std::uint64_t factor) {
  to.calls += factor * other.calls;
  for (const auto& [result, count] : other.results) to.results[result] += factor * count;
  for (const auto& [result, count] : other.failures) to.failures[result] += factor * count;
  if (!to.durations || !other.durations) return;
  to.durations->sum_ns += factor * other.durations->sum_ns;
  for (std::size_t i = 0; i < to.durations->buckets.size(); ++i)
    to.durations->buckets[i] += factor * other.durations->buckets[i];
}

}  // namespace

void KnownNames::follow(const iocs::HostView& host) {
  std::map<std::string, Life> lives;
  for (const auto& [id, live] : host.live())
    lives[live.ioc.name] = {id, live.initialized ? live.database : nullptr, nullptr};
  follow(std::move(lives), host.known_names());
}

void KnownNames::follow(std::map<std::string, Life> lives,
                        const std::unordered_set<std::string>& names) {
  for (auto& [name, life] : lives)
    if (const auto before = lives_.find(name);
        before != lives_.end() && before->second.database == life.database)
      life.records = std::move(before->second.records);
  lives_ = std::move(lives);
  std::erase_if(shown_, [&](const auto& one) { return !names.contains(std::get<0>(one.first)); });
}

void KnownNames::apply(std::vector<FunctionSample>& samples, const WalkWatch& walks) {
  std::vector<FunctionSample> all;
  for (FunctionSample& sample : samples) {
    bool is_sure = true;
    Labels labels = sample.labels;
    for (auto& [label, value] : labels) {
      const auto among = sample.description->among.find(label);
      if (among == sample.description->among.end() || value.empty() || value == exposition::kOther)
        continue;
      const Answer answer = ask(sample.ioc, among->second, label, value, walks);
      is_sure = is_sure && answer != Answer::not_sure;
      if (answer == Answer::no) value.clear();
    }
    if (sample.description->among.empty())
      all.push_back(std::move(sample));
    else
      show(std::move(sample), std::move(labels), is_sure, all);
  }
  samples = std::move(all);
}

void KnownNames::show(FunctionSample sample, Labels labels, bool is_sure,
                      std::vector<FunctionSample>& to) {
  const std::tuple key{sample.ioc, sample.function, sample.labels};
  if (!is_sure && !shown_.contains(key)) return;
  auto& [last, now, counts] = shown_[key];
  if (is_sure) now = std::move(labels);
  FunctionSample fresh = sample;
  add(fresh, last, ~std::uint64_t{0});
  fresh.labels = now;
  if (now != sample.labels) unknown_ += fresh.calls;
  last = std::move(sample);
  if (const auto [known, is_new] = counts.try_emplace(now, fresh); !is_new)
    add(known->second, fresh, 1);
  for (const auto& [shown, one] : counts) to.push_back(one);
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
