#include "ca/put_totals.h"

#include <algorithm>
#include <utility>

namespace ioc_exporter::ca {

const CaPutTotals::Channel* CaPutTotals::find(std::uint32_t slot) const {
  const auto& channels = channels_[slot / kServerSlots];
  const std::uint32_t index = slot % kServerSlots;
  if (index >= channels.size() || channels[index].state == Channel::State::closed) return nullptr;
  return &channels[index];
}

CaPutTotals::Channel* CaPutTotals::find(std::uint32_t slot) {
  return const_cast<Channel*>(std::as_const(*this).find(slot));
}

bool CaPutTotals::has_room(const std::string& client) const {
  if (series_.size() >= max_series_) return false;
  const std::size_t left = max_series_ - series_.size();
  if (left > max_series_ / 4) return true;
  const auto own = series_of_.find(client);
  return own == series_of_.end() || own->second < left;
}

void CaPutTotals::count_out(const CaPutLabels& labels) {
  const auto own = series_of_.find(labels.client);
  if (--own->second == 0) series_of_.erase(own);
}

// The end: no room.
CaPutTotals::SeriesMap::iterator CaPutTotals::find_or_add(CaPutLabels labels) {
  const auto found = series_.find(labels);
  if (found != series_.end() || !has_room(labels.client)) return found;
  ++series_of_[labels.client];
  return series_.try_emplace(std::move(labels)).first;
}

void CaPutTotals::open(std::uint32_t slot, std::uint64_t channel, CaPutLabels labels) {
  close(slot);
  auto& channels = channels_[slot / kServerSlots];
  const std::uint32_t index = slot % kServerSlots;
  if (index >= channels.size()) channels.resize(index + std::size_t{1});
  Channel& opened = channels[index];
  opened.id = channel;
  opened.growth = {};
  opened.series = find_or_add(std::move(labels));
  if (opened.series == series_.end()) {
    opened.state = Channel::State::overflows;
  } else {
    opened.state = Channel::State::counts;
    ++opened.series->second.channels;
  }
  ++open_channels_;
}

bool CaPutTotals::is_open(std::uint32_t slot, std::uint64_t channel) const {
  const Channel* const found = find(slot);
  return found != nullptr && found->id == channel;
}

void CaPutTotals::relabel(std::uint32_t slot, CaPutLabels labels) {
  const Channel* channel = find(slot);
  if (channel == nullptr) return;
  const CounterGrowth<2> growth = channel->growth;
  open(slot, channel->id, std::move(labels));
  find(slot)->growth = growth;
}

const CaPutLabels* CaPutTotals::labels(std::uint32_t slot, std::uint64_t channel) const {
  const Channel* const found = find(slot);
  if (found == nullptr || found->id != channel || found->state != Channel::State::counts)
    return nullptr;
  return &found->series->first;
}

void CaPutTotals::observe(std::uint32_t slot, const CaPuts& puts, std::uint64_t last_put) {
  Channel* channel = find(slot);
  if (channel == nullptr || channel->growth.last() == puts) return;
  const CaPuts fresh = channel->growth.advance(puts);
  if (channel->state == Channel::State::overflows) overflowed_ += fresh[0] + fresh[1];
  if (channel->state == Channel::State::forgotten) forgotten_ += fresh[0] + fresh[1];
  if (channel->state != Channel::State::counts) return;
  Series& series = channel->series->second;
  add_to(series.puts, fresh);
  if (channel->series->first.pv.empty()) unnamed_ += fresh[0] + fresh[1];
  const std::size_t op = last_put & 1;
  if (fresh[op] != 0) series.last_ns[op] = std::max(series.last_ns[op], last_put - op);
}

void CaPutTotals::pass_over(std::uint32_t slot, const CaPuts& puts) {
  if (Channel* const channel = find(slot)) channel->growth.restart_at(puts);
}

bool CaPutTotals::is_current(std::uint32_t slot, const CaPuts& puts) const {
  const Channel* const channel = find(slot);
  return channel != nullptr && channel->growth.last() == puts;
}

void CaPutTotals::add(const CaPutLabels& labels, const CaPuts& puts, std::uint64_t last_ns) {
  const auto series = find_or_add(labels);
  if (series == series_.end()) {
    overflowed_ += puts[0] + puts[1];
    return;
  }
  add_to(series->second.puts, puts);
  if (labels.pv.empty()) unnamed_ += puts[0] + puts[1];
  for (std::size_t op = 0; op < puts.size(); ++op)
    if (puts[op] != 0) series->second.last_ns[op] = std::max(series->second.last_ns[op], last_ns);
}

void CaPutTotals::close(std::uint32_t slot) {
  Channel* channel = find(slot);
  if (channel == nullptr) return;
  --open_channels_;
  const bool counted = channel->state == Channel::State::counts;
  channel->state = Channel::State::closed;
  if (!counted) return;
  Series& series = channel->series->second;
  // Nobody ever put there: what clients only read leaves nothing behind.
  if (--series.channels > 0 || series.puts != CaPuts{}) return;
  count_out(channel->series->first);
  series_.erase(channel->series);
}

void CaPutTotals::forget(std::uint32_t ioc) {
  for (auto& channels : channels_)
    for (Channel& channel : channels)
      if (channel.state == Channel::State::counts && channel.series->first.ioc == ioc)
        channel.state = Channel::State::forgotten;
  std::erase_if(series_, [&](const auto& entry) {
    if (entry.first.ioc != ioc) return false;
    count_out(entry.first);
    return true;
  });
}

std::vector<CaPutLabels> CaPutTotals::expire(std::uint64_t before_ns) {
  std::vector<CaPutLabels> expired;
  std::erase_if(series_, [&](const auto& entry) {
    const Series& series = entry.second;
    const std::uint64_t last = *std::ranges::max_element(series.last_ns);
    if (series.channels > 0 || last == 0 || last >= before_ns) return false;
    expired.push_back(entry.first);
    count_out(entry.first);
    return true;
  });
  return expired;
}

bool CaPutTotals::knows(std::uint32_t ioc, const std::string& pv) const {
  const auto first = series_.lower_bound({ioc, pv, "", "", ""});
  return first != series_.end() && first->first.ioc == ioc && first->first.pv == pv;
}

std::vector<CaPutCount> CaPutTotals::counts() const {
  std::vector<CaPutCount> all;
  for (const auto& [labels, series] : series_) {
    if (series.puts[0]) all.push_back({labels, PutOp::write, series.puts[0], series.last_ns[0]});
    if (series.puts[1])
      all.push_back({labels, PutOp::write_notify, series.puts[1], series.last_ns[1]});
  }
  return all;
}

}  // namespace ioc_exporter::ca
