#include "puts/totals/put_totals.h"

#include <algorithm>
#include <array>
#include <functional>
#include <string_view>
#include <utility>

namespace ioc_exporter::puts {

const PutTotals::Channel* PutTotals::find(std::uint32_t slot) const {
  const auto& channels = channels_[slot / kSlots];
  const std::uint32_t index = slot % kSlots;
  if (index >= channels.size() || channels[index].state == Channel::State::closed) return nullptr;
  return &channels[index];
}

PutTotals::Channel* PutTotals::find(std::uint32_t slot) {
  return const_cast<Channel*>(std::as_const(*this).find(slot));
}

// Whether the series has room, or gets it now.
bool PutTotals::show(SeriesMap::value_type& entry) {
  if (entry.second.shown) return true;
  std::size_t& shown = shown_[index_of(entry.first.protocol)];
  if (shown >= max_series_) return false;
  entry.second.shown = true;
  ++shown;
  return true;
}

PutTotals::SeriesMap::iterator PutTotals::series_of(PutLabels labels) {
  const auto [series, is_new] = series_.try_emplace(std::move(labels));
  if (is_new) series->second.serial = ++last_serial_;
  return series;
}

void PutTotals::note_reading(std::uint64_t now_ns) {
  read_ns_ = now_ns;
  if (!std::exchange(any_over_, false)) return;
  std::erase_if(
      series_, [](const auto& entry) { return !entry.second.shown && entry.second.channels == 0; });
}

void PutTotals::hide(const SeriesMap::value_type& entry) {
  if (entry.second.shown) --shown_[index_of(entry.first.protocol)];
}

void PutTotals::open(std::uint32_t slot, std::uint64_t channel, PutLabels labels) {
  close(slot);
  auto& channels = channels_[slot / kSlots];
  const std::uint32_t index = slot % kSlots;
  if (index >= channels.size()) channels.resize(index + std::size_t{1});
  Channel& opened = channels[index];
  opened.id = channel;
  opened.growth = {};
  opened.series = series_of(std::move(labels));
  opened.state = Channel::State::counts;
  ++opened.series->second.channels;
}

bool PutTotals::is_open(std::uint32_t slot, std::uint64_t channel) const {
  const Channel* const found = find(slot);
  return found != nullptr && found->id == channel;
}

void PutTotals::relabel(std::uint32_t slot, PutLabels labels) {
  const Channel* channel = find(slot);
  if (channel == nullptr) return;
  const CounterGrowth<2> growth = channel->growth;
  open(slot, channel->id, std::move(labels));
  find(slot)->growth = growth;
}

const PutLabels* PutTotals::labels(std::uint32_t slot, std::uint64_t channel) const {
  const Channel* const found = find(slot);
  if (found == nullptr || found->id != channel || found->state != Channel::State::counts)
    return nullptr;
  return &found->series->first;
}

// `last_ns`: of the last one. One of the other kind came between the look before and then. Whether
// the series has room.
bool PutTotals::add_fresh(SeriesMap::value_type& entry, std::uint32_t slots, const PutsByOp& fresh,
                          std::uint64_t last_ns) {
  Series& series = entry.second;
  const bool shown = show(entry);
  if (!shown) overflowed_[slots / kSlots] += fresh[0] + fresh[1];
  for (std::size_t op = 0; op < fresh.size(); ++op) {
    if (fresh[op] == 0) continue;
    if (series.puts[op] == 0) series.created_ns[op] = read_ns_;
    series.last_ns[op] = std::max(series.last_ns[op], last_ns);
  }
  add_to(shown ? series.puts : series.hidden, fresh);
  return shown;
}

void PutTotals::observe(std::uint32_t slot, const PutsByOp& puts, std::uint64_t last_put) {
  Channel* channel = find(slot);
  if (channel == nullptr || channel->growth.last() == puts) return;
  const PutsByOp fresh = channel->growth.advance(puts);
  if (channel->state == Channel::State::forgotten) forgotten_[slot / kSlots] += fresh[0] + fresh[1];
  if (channel->state != Channel::State::counts) return;
  if (add_fresh(*channel->series, slot, fresh, last_put & ~1ULL) &&
      slot / kSlots == server_slots(Protocol::ca) / kSlots && channel->series->first.pv.empty())
    unnamed_by_server_ += fresh[0] + fresh[1];
}

void PutTotals::pass_over(std::uint32_t slot, const PutsByOp& puts) {
  if (Channel* const channel = find(slot)) channel->growth.restart_at(puts);
}

bool PutTotals::is_current(std::uint32_t slot, const PutsByOp& puts) const {
  const Channel* const channel = find(slot);
  return channel != nullptr && channel->growth.last() == puts;
}

bool PutTotals::note_outcome(std::uint32_t slot) {
  const Channel* const channel = find(slot);
  if (channel == nullptr || channel->state != Channel::State::counts || !show(*channel->series))
    return false;
  channel->series->second.has_outcome = true;
  channel->series->second.outcome_ns = read_ns_;
  return true;
}

void PutTotals::add(std::uint32_t slots, const PutLabels& labels, const PutsByOp& puts,
                    std::uint64_t last_ns) {
  if (!add_fresh(*series_of(labels), slots, puts, last_ns)) any_over_ = true;
}

void PutTotals::close(std::uint32_t slot) {
  Channel* channel = find(slot);
  if (channel == nullptr) return;
  const bool counted = channel->state == Channel::State::counts;
  channel->state = Channel::State::closed;
  if (!counted) return;
  Series& series = channel->series->second;
  // A channel without puts leaves nothing behind.
  if (--series.channels > 0 || series.puts != PutsByOp{} || series.has_outcome) return;
  if (series.hidden != PutsByOp{}) {  // until they have been read
    any_over_ = true;
    return;
  }
  hide(*channel->series);
  series_.erase(channel->series);
}

void PutTotals::forget(std::uint32_t ioc) {
  for (auto& channels : channels_)
    for (Channel& channel : channels)
      if (channel.state == Channel::State::counts && channel.series->first.ioc == ioc)
        channel.state = Channel::State::forgotten;
  std::erase_if(series_, [&](const auto& entry) {
    if (entry.first.ioc != ioc) return false;
    hide(entry);
    return true;
  });
}

std::vector<PutLabels> PutTotals::expire(std::uint64_t before_ns) {
  std::vector<PutLabels> expired;
  std::erase_if(series_, [&](const auto& entry) {
    const Series& series = entry.second;
    const std::uint64_t last =
        std::max(*std::ranges::max_element(series.last_ns), series.outcome_ns);
    if (series.channels > 0 || last == 0 || last >= before_ns) return false;
    expired.push_back(entry.first);
    hide(entry);
    return true;
  });
  return expired;
}

bool PutTotals::knows(const ServerKey& server, const std::string& pv) const {
  const auto is_its = [&](const PutLabels& labels) {
    return labels.ioc == server.ioc && labels.pv == pv;
  };
  auto at = series_.lower_bound({server.ioc, pv, "", "", ""});
  while (at != series_.end() && is_its(at->first) && at->first.protocol != server.protocol) ++at;
  return at != series_.end() && is_its(at->first);
}

std::vector<PutCount> PutTotals::counts() const {
  std::vector<PutCount> all;
  for (const auto& [labels, series] : series_) {
    for (const PutOp op : {PutOp::write, PutOp::write_notify}) {
      const std::size_t i = op == PutOp::write ? 0 : 1;
      if (series.puts[i] + series.hidden[i] > 0)
        all.push_back({labels, op, series.puts[i], series.hidden[i], series.serial,
                       series.last_ns[i], series.created_ns[i]});
    }
  }
  return all;
}

}  // namespace ioc_exporter::puts
