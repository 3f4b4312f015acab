#include "exposition/limited_series.h"

#include <algorithm>

namespace ioc_exporter::exposition {
namespace {

// Sums with their client. A client has one when it has used up its room; so there are few, but
// for a limit of a handful for each client.
constexpr std::size_t kMostSums = 1000;

// Texts one after the other, each with its length: two lists that differ differ here, too.
void append(std::string& key, std::string_view text) {
  const auto size = static_cast<std::uint32_t>(text.size());
  key.append(reinterpret_cast<const char*>(&size), sizeof size);
  key.append(text);
}

void add_dense(std::vector<std::uint64_t>& sum, std::span<const std::uint64_t> values) {
  for (std::size_t i = 0; i < values.size(); ++i) sum[i] += values[i];
}

template <class Sparse>
void collect(Sparse& into, std::span<const std::uint64_t> values) {
  if (into.empty()) {
    for (std::uint32_t i = 0; i < values.size(); ++i)
      if (values[i] != 0) into.emplace_back(i, values[i]);
    return;
  }
  for (std::uint32_t i = 0; i < values.size(); ++i) {
    if (values[i] == 0) continue;
    const auto at = std::ranges::find(into, i, [](const auto& entry) { return entry.first; });
    if (at != into.end())
      at->second += values[i];
    else
      into.emplace_back(i, values[i]);
  }
}

template <class Sparse>
std::uint64_t value_at(const Sparse& values, std::uint32_t place) {
  const auto at = std::ranges::find(values, place, [](const auto& entry) { return entry.first; });
  return at == values.end() ? 0 : at->second;
}

// As CounterGrowth: adds by how much the counters of a thing grew. A lower one: it began anew.
template <class Sparse>
void add_growth(std::vector<std::uint64_t>& sum, const Sparse& last, const Sparse& now) {
  const bool anew = std::ranges::any_of(
      last, [&now](const auto& before) { return value_at(now, before.first) < before.second; });
  for (const auto& [place, value] : now) sum[place] += value - (anew ? 0 : value_at(last, place));
}

}  // namespace

std::string_view LimitedSeries::text_of(const Key& key) {
  buffer_.clear();
  append(buffer_, key.ioc);
  append(buffer_, key.client);
  append(buffer_, key.detail);
  for (const std::string_view text : key.labels) append(buffer_, text);
  return buffer_;
}

LimitedSeries::ByText<LimitedSeries::Use>::value_type* LimitedSeries::use_of(
    ByText<Use>& uses, std::string_view name) {
  auto found = uses.find(name);
  if (found == uses.end()) found = uses.try_emplace(std::string(name)).first;
  ++found->second.things;
  return &*found;
}

void LimitedSeries::release_unused(ByText<Use>& uses, ByText<Use>::value_type* use) {
  if (--use->second.things == 0) uses.erase(uses.find(use->first));
}

bool LimitedSeries::has_room(const Thing& thing) const {
  return own_ < limit_.series && thing.ioc->second.own < limit_.per_ioc &&
         thing.client->second.own < limit_.per_client;
}

void LimitedSeries::take_room(Thing& thing, std::size_t more) {
  own_ += more;
  thing.ioc->second.own += more;
  thing.client->second.own += more;
}

LimitedSeries::Sum& LimitedSeries::sum_for(const Thing& thing, const Key& key) {
  const bool too_many = thing.client->second.own >= limit_.per_client && sums_.size() < kMostSums;
  const std::string_view client = too_many ? key.client : kOther;
  buffer_.clear();
  for (const std::string_view text : {key.ioc, client, key.detail}) append(buffer_, text);
  Sum& sum = sums_[buffer_];
  if (sum.values.empty()) {
    sum.ioc = key.ioc;
    sum.client = client;
    sum.detail = key.detail;
    sum.values.resize(value_count_);
  }
  return sum;
}

// A thing gets its place: its own, or one in a sum.
void LimitedSeries::enter(Thing& thing, const Key& key) {
  thing.over_limit = thing.own == Own::must && !has_room(thing);
  if (thing.over_limit || (thing.own != Own::never && has_room(thing))) return take_room(thing, 1);
  thing.sum = &sum_for(thing, key);
  ++thing.sum->members;
  ++limited_;
}

// A thing in a sum that must be named leaves it.
void LimitedSeries::name_in_any_case(Thing& thing) {
  if (!thing.promoted) {
    thing.promoted = true;
    thing.over_limit = !has_room(thing);
    take_room(thing, 1);
  }
}

void LimitedSeries::begin() {
  ++pass_;
  if (kind_ == Kind::counter) return;
  for (auto& [key, sum] : sums_) std::ranges::fill(sum.values, 0);
}

LimitedSeries::Sum* LimitedSeries::add(const Key& key, std::span<const std::uint64_t> values,
                                       Own own) {
  auto found = things_.find(text_of(key));
  const bool is_new = found == things_.end();
  if (is_new) found = things_.try_emplace(buffer_).first;
  Thing& thing = found->second;
  thing.own = own;
  if (is_new) {
    thing.ioc = use_of(iocs_, key.ioc);
    thing.client = use_of(clients_, key.client);
    enter(thing, key);
  } else if (own == Own::must && thing.sum != nullptr) {
    name_in_any_case(thing);
  } else if (own != Own::must && thing.over_limit && thing.pass != pass_) {
    take_room(thing, static_cast<std::size_t>(-1));
    enter(thing, key);
  }
  thing.pass = pass_;
  if (thing.promoted) {
    thing.promoted = false;
    thing.left = std::exchange(thing.sum, nullptr);
    --thing.left->members;
    --limited_;
  }
  if (kind_ == Kind::counter) {
    // Its counts so far stay where they were shown.
    if (thing.sum != nullptr || thing.left != nullptr || thing.over_limit)
      collect(thing.now, values);
  } else if (thing.sum != nullptr) {
    add_dense(thing.sum->values, values);
  }
  return thing.sum;
}

void LimitedSeries::leave(Thing& thing) {
  if (thing.sum == nullptr || thing.promoted) {
    --own_;
    --thing.ioc->second.own;
    --thing.client->second.own;
  }
  if (thing.sum != nullptr) {
    --thing.sum->members;
    --limited_;
  }
  release_unused(iocs_, thing.ioc);
  release_unused(clients_, thing.client);
}

void LimitedSeries::settle(Thing& thing) const {
  Sum* const left = std::exchange(thing.left, nullptr);
  Sum* const sum = left != nullptr ? left : thing.sum;
  if ((sum == nullptr && !thing.over_limit) || kind_ != Kind::counter) return;
  if (sum != nullptr) add_growth(sum->values, thing.last, thing.now);
  std::swap(thing.last, thing.now);
  thing.now.clear();  // and keeps its memory, but for things that are in no sum any more
  if (left != nullptr && !thing.over_limit) thing.last = thing.now = {};
}

// Gives the room that there is to things that have waited for it.
void LimitedSeries::promote() {
  if (limited_ == 0 || own_ >= limit_.series) return;
  for (auto& [key, thing] : things_) {
    if (thing.sum == nullptr || thing.promoted || thing.own == Own::never || !has_room(thing))
      continue;
    thing.promoted = true;
    take_room(thing, 1);
  }
}

void LimitedSeries::end(const std::function<bool(const std::string&)>& is_there) {
  for (auto entry = things_.begin(); entry != things_.end();) {
    if (entry->second.pass == pass_) {
      settle(entry->second);
      ++entry;
    } else {
      leave(entry->second);
      entry = things_.erase(entry);
    }
  }
  std::erase_if(sums_, [&is_there](const auto& entry) {
    return entry.second.members == 0 && !is_there(entry.second.ioc);
  });
  promote();
}

}  // namespace ioc_exporter::exposition
