#include "functions/walk_watch.h"

#include <algorithm>
#include <optional>

#include "exposition/shared_families.h"

namespace ioc_exporter::functions {
namespace {

bool fits(const Walked& found, const std::string& problem) {
  return problem.empty() && found.problem.empty();
}

}  // namespace

void WalkWatch::take(const iocs::IocId& id, std::uint64_t serial,
                     std::map<std::uint32_t, WalkPlaces> places) {
  const std::scoped_lock lock(mutex_);
  if (places.empty() && !lives_.contains(id)) return;
  Life& life = lives_[id];
  if (std::exchange(life.serial, serial) != serial) {
    life = Life();
    life.serial = serial;
  }
  std::erase_if(life.walks, [&](const auto& known) { return !places.contains(known.first); });
  for (auto& [walk, place] : places) life.walks[walk].places = std::move(place);
}

void WalkWatch::look(const std::vector<Job>& jobs) {
  const std::unique_lock looking(looking_, kBudget);
  if (!looking) return;  // another scrape looks
  const auto deadline = Clock::now() + kBudget;
  std::vector<std::pair<Clock::time_point, const Job*>> queue;
  {
    const std::scoped_lock lock(mutex_);
    std::set<std::pair<iocs::IocId, std::uint64_t>> there;
    for (const Job& job : jobs) {
      there.emplace(job.id, job.serial);
      const auto life = lives_.find(job.id);
      if (life == lives_.end() || life->second.serial != job.serial) continue;
      life->second.ioc = job.ioc;
      if (job.left_alone)
        life->second.when = Clock::now();
      else
        queue.emplace_back(life->second.tried, &job);
    }
    std::erase_if(lives_, [&](const auto& one) {
      return !there.contains({one.first, one.second.serial});
    });
  }
  std::ranges::stable_sort(queue, {}, [](const auto& one) { return one.first; });
  for (const auto& [tried, job] : queue) {
    if (Clock::now() >= deadline) return;
    look_at(*job);
  }
}

void WalkWatch::look_at(const Job& job) {
  std::map<std::uint32_t, Read> walks;
  {
    const std::scoped_lock lock(mutex_);
    walks = lives_[job.id].walks;
  }
  if (walks.empty()) return;
  std::uint64_t unfit = 0;
  const auto memory = reader_->memory(job.id);
  for (auto& [index, read] : walks) {
    read.found = {};
    read.problem = memory ? read.places.problem : memory.error().message();
    if (!read.problem.empty()) continue;
    const Roots variables =
        [&places = read.places.variables](const std::string& name) -> std::optional<std::uint64_t> {
      const auto place = places.find(name);
      if (place == places.end()) return {};
      return place->second;
    };
    auto found = walk((*walks_)[index], variables, **memory);
    if (found)
      read.found = std::move(*found);
    else
      read.problem = found.error().message();
    unfit += read.found.unfit;
    ++read.looks;
    read.has_fit |= fits(read.found, read.problem);
  }
  const std::scoped_lock lock(mutex_);
  unfit_ += unfit;
  Life& life = lives_[job.id];
  if (life.serial != job.serial) return;
  life.tried = life.when = Clock::now();
  for (auto& [index, read] : walks) {
    keep_names(life, index, read.found);
    if (const auto known = life.walks.find(index); known != life.walks.end())
      known->second = std::move(read);
  }
}

void WalkWatch::keep_names(Life& life, std::uint32_t walk, const Walked& found) const {
  for (const auto& [label, value] : found.names)
    if (life.names.size() < kMostNames) life.names.emplace(walk, label, value);
}

void WalkWatch::encode(exposition::Encoder& encoder) const {
  exposition::SharedFamilies families;
  const std::scoped_lock lock(mutex_);
  const auto oldest = Clock::now() - kOldest;
  for (std::uint32_t i = 0; i < walks_->size(); ++i) {
    const Walk& walk = (*walks_)[i];
    for (const auto& [id, life] : lives_) {
      const auto read = life.walks.find(i);
      if (read == life.walks.end() || life.when < oldest) continue;
      for (const WalkSample& sample : read->second.found.samples) {
        const WalkMetric& metric = walk.metrics[sample.metric];
        families.begin(
            {metric.name,
             metric.counter ? exposition::FamilyType::counter : exposition::FamilyType::gauge,
             metric.help});
        std::vector<exposition::Label> labels{{"ioc", life.ioc}};
        for (const auto& [name, value] : sample.labels) labels.push_back({name, value});
        if (metric.counter)
          families.add(encoder.labels(labels),
                       exposition::CountedSeries{static_cast<std::uint64_t>(sample.value)});
        else
          families.add(encoder.labels(labels), sample.value);
      }
    }
  }
  families.encode(encoder);
}

WalkWatch::Answer WalkWatch::knows(const iocs::IocId& id, const std::string& walk,
                                   const std::string& label, const std::string& value) const {
  const std::scoped_lock lock(mutex_);
  const auto index = std::ranges::find(*walks_, walk, &Walk::name) - walks_->begin();
  const auto life = lives_.find(id);
  if (life == lives_.end()) return Answer::not_sure;
  const auto walk_index = static_cast<std::uint32_t>(index);
  if (life->second.names.contains({walk_index, label, value})) return Answer::yes;
  const auto found = life->second.walks.find(walk_index);
  if (found == life->second.walks.end()) return Answer::not_sure;
  const Read& read = found->second;
  const bool is_unfit = !fits(read.found, read.problem);
  const bool may_fit = read.has_fit || read.looks < kLooksToFit;
  return read.looks == 0 || (is_unfit && may_fit) ? Answer::not_sure : Answer::no;
}

std::vector<WalkWatch::State> WalkWatch::states() const {
  const std::scoped_lock lock(mutex_);
  std::vector<State> states;
  for (const auto& [id, life] : lives_)
    for (const auto& [index, read] : life.walks) {
      std::string state = std::to_string(read.found.items) + " found";
      if (read.found.unfit > 0)
        state += ", " + std::to_string(read.found.unfit) + " absent: " + read.found.problem;
      if (!read.problem.empty()) state = "absent: " + read.problem;
      states.push_back({(*walks_)[index].name, life.ioc, read.places.file, std::move(state)});
    }
  return states;
}

std::uint64_t WalkWatch::unfit() const {
  const std::scoped_lock lock(mutex_);
  return unfit_;
}

}  // namespace ioc_exporter::functions
