#include "probes/ca_put_totals.h"

#include <algorithm>
#include <utility>

namespace ioc_exporter::probes {

void CaPutTotals::open(std::uint32_t slot, std::uint64_t channel, CaPutLabels labels) {
  close(slot);
  Channel opened;
  opened.id = channel;
  opened.series = series_.find(labels);
  if (opened.series == series_.end() && series_.size() >= max_series_) {
    opened.state = Channel::overflows;
  } else {
    opened.series = series_.try_emplace(std::move(labels)).first;
    ++opened.series->second.channels;
  }
  channels_.insert_or_assign(slot, opened);
}

bool CaPutTotals::is_open(std::uint32_t slot, std::uint64_t channel) const {
  const auto found = channels_.find(slot);
  return found != channels_.end() && found->second.id == channel;
}

void CaPutTotals::relabel(std::uint32_t slot, CaPutLabels labels) {
  const auto found = channels_.find(slot);
  if (found == channels_.end()) return;
  const std::uint64_t channel = found->second.id;
  const CaPuts added = found->second.added;
  open(slot, channel, std::move(labels));
  channels_.at(slot).added = added;
}

const CaPutLabels* CaPutTotals::labels(std::uint32_t slot, std::uint64_t channel) const {
  const auto found = channels_.find(slot);
  if (found == channels_.end() || found->second.id != channel ||
      found->second.state != Channel::counts)
    return nullptr;
  return &found->second.series->first;
}

void CaPutTotals::observe(std::uint32_t slot, const CaPuts& puts, std::uint64_t last_put) {
  const auto found = channels_.find(slot);
  if (found == channels_.end()) return;
  Channel& channel = found->second;
  for (std::size_t op = 0; op < puts.size(); ++op) {
    const std::uint64_t fresh = puts[op] - channel.added[op];
    channel.added[op] = puts[op];
    if (channel.state == Channel::counts && fresh != 0) {
      Series& series = channel.series->second;
      series.puts[op] += fresh;
      if (channel.series->first.pv.empty()) unnamed_ += fresh;
      if ((last_put & 1) == op) series.last_ns[op] = std::max(series.last_ns[op], last_put - op);
    }
    if (channel.state == Channel::overflows) overflowed_ += fresh;
  }
}

void CaPutTotals::close(std::uint32_t slot) {
  const auto found = channels_.find(slot);
  if (found == channels_.end()) return;
  const Channel channel = found->second;
  channels_.erase(found);
  if (channel.state != Channel::counts) return;
  Series& series = channel.series->second;
  // Nobody ever put there: what clients only read leaves nothing behind.
  if (--series.channels == 0 && series.puts == CaPuts{}) series_.erase(channel.series);
}

void CaPutTotals::forget(std::uint32_t ioc) {
  for (auto& [slot, channel] : channels_)
    if (channel.state == Channel::counts && channel.series->first.ioc == ioc)
      channel.state = Channel::forgotten;
  std::erase_if(series_, [ioc](const auto& entry) { return entry.first.ioc == ioc; });
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

}  // namespace ioc_exporter::probes
