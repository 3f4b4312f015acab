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
  Life& life = lives_[id];
  if (std::exchange(life.serial, serial) != serial) {
    life = Life();
    life.serial = serial;
  }
  std::erase_if(life.walks, [&](const auto& known) { return !places.contains(known.first); });
  for (auto& [walk, place] : places) life.walks[walk].places = std::move(place);
}

// Those that were not tried for longest come first.
std::vector<WalkWatch::Turn> WalkWatch::turns_of(const std::vector<Job>& jobs,
                                                 Clock::time_point start) {
  std::set<std::pair<iocs::IocId, std::uint64_t>> there;
  std::vector<Turn> all;
  const std::scoped_lock lock(mutex_);
  began_ = start;
  for (const Job& job : jobs) {
    there.emplace(job.id, job.serial);
    const auto life = lives_.find(job.id);
    if (life == lives_.end() || life->second.serial != job.serial) continue;
    life->second.ioc = job.ioc;
    std::map<std::string_view, Turn> of_name;
    for (auto& [walk, read] : life->second.walks) {
      if (job.left_alone) read.when = start;
      Turn& turn =
          of_name.try_emplace((*walks_)[walk].name, Turn{read.tried, &job, {}}).first->second;
      turn.tried = std::min(turn.tried, read.tried);
      turn.walks.push_back(walk);
    }
    if (job.left_alone) continue;
    for (auto& [name, turn] : of_name) all.push_back(std::move(turn));
  }
  std::erase_if(lives_, [&](const auto& one) {
    return !there.contains({one.first, one.second.serial});
  });
  std::ranges::stable_sort(all, {}, &Turn::tried);
  return all;
}

void WalkWatch::read(const std::vector<Job>& jobs) {
  const std::unique_lock is_reading(reading_, kBudget);
  if (!is_reading) return;  // another scrape reads
  const auto start = Clock::now(), deadline = start + kBudget;
  std::map<iocs::IocId, MemoryOrNot> memories;
  bool is_first = true;
  for (const Turn& turn : turns_of(jobs, start)) {
    if (Clock::now() >= deadline) return;
    auto memory = memories.find(turn.job->id);
    if (memory == memories.end())
      memory = memories.emplace(turn.job->id, reader_->memory(turn.job->id)).first;
    if (!read_turn(turn, memory->second, deadline, std::exchange(is_first, false))) return;
  }
}

std::map<std::uint32_t, WalkWatch::Read>* WalkWatch::walks_of(const Job& job) {
  const auto life = lives_.find(job.id);
  if (life == lives_.end() || life->second.serial != job.serial) return nullptr;
  return &life->second.walks;
}

// False: there was not enough time. `is_last`: it had all of it, and gets no more at another
// reading.
bool WalkWatch::read_turn(const Turn& turn, const MemoryOrNot& memory, Clock::time_point deadline,
                          bool is_last) {
  std::map<std::uint32_t, Read> reads;
  {
    const std::scoped_lock lock(mutex_);
    const auto* const known = walks_of(*turn.job);
    if (known == nullptr) return true;
    for (const std::uint32_t index : turn.walks)
      if (const auto read = known->find(index); read != known->end()) reads.insert(*read);
  }
  for (auto& [index, read] : reads) {
    read.found = {};
    read.problem = memory ? read.places.problem : memory.error().message();
    if (memory && read.problem.empty()) {
      const Roots variables = [&places = read.places.variables](
                                  const std::string& name) -> std::optional<std::uint64_t> {
        const auto place = places.find(name);
        if (place == places.end()) return {};
        return place->second;
      };
      WalkBounds bounds;
      bounds.time = std::min(bounds.time,
                             std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()));
      auto found = walk((*walks_)[index], variables, **memory, bounds);
      if (found && found->is_cut && !is_last && Clock::now() >= deadline) return false;
      if (found)
        read.found = std::move(*found);
      else
        read.problem = found.error().message();
    }
    if (memory) ++read.readings;
    read.has_fit |= fits(read.found, read.problem);
    read.tried = read.when = Clock::now();
  }
  const std::uint64_t unfit = choose(reads);
  const std::scoped_lock lock(mutex_);
  auto* const known = walks_of(*turn.job);
  if (known == nullptr) return true;
  auto& counted = lives_.at(turn.job->id).unfit[(*walks_)[turn.walks.front()].name];
  unfit_ += unfit - std::min(unfit, counted);
  counted = std::max(unfit, counted);
  for (auto& [index, read] : reads) {
    const auto to = known->find(index);
    if (to == known->end()) continue;
    keep_names(lives_.at(turn.job->id), index, read.found);
    to->second = std::move(read);
  }
  return true;
}

// Of walks of one name: the others are for other versions of the module. How much of what is shown
// does not fit.
std::uint64_t WalkWatch::choose(std::map<std::uint32_t, Read>& reads) {
  Read* shown = nullptr;
  for (auto& [index, read] : reads)
    if (shown == nullptr || read.found.items > shown->found.items) shown = &read;
  for (auto& [index, read] : reads) {
    read.is_shown = &read == shown;
    if (!read.is_shown) read.found = {};
  }
  return shown == nullptr ? 0 : shown->found.unfit;
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
      if (read == life.walks.end() || read->second.when < oldest) continue;
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
  const auto life = lives_.find(id);
  if (life == lives_.end()) return Answer::not_sure;
  const Read* shown = nullptr;
  for (const auto& [index, read] : life->second.walks) {
    if ((*walks_)[index].name != walk) continue;
    if (life->second.names.contains({index, label, value})) return Answer::yes;
    if (read.is_shown) shown = &read;
  }
  if (shown == nullptr) return Answer::no;  // the IOC maps no file of the walk
  const Read& read = *shown;
  if (read.found.names.contains({label, value})) return Answer::yes;
  const bool is_unfit = !fits(read.found, read.problem);
  const bool may_fit = read.has_fit || read.readings < kReadingsToFit;
  const bool is_old = read.readings == 0 || read.tried < began_;
  return is_old || (is_unfit && may_fit) ? Answer::not_sure : Answer::no;
}

std::vector<WalkWatch::State> WalkWatch::states() const {
  const std::scoped_lock lock(mutex_);
  std::vector<State> states;
  for (const auto& [id, life] : lives_)
    for (const auto& [index, read] : life.walks) {
      if (!read.is_shown) continue;
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
