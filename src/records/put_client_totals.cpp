#include "records/put_client_totals.h"

#include <utility>

namespace ioc_exporter::records {

PutClientTotals::Thread PutClientTotals::thread_of(const iocx_put_client_key& key) {
  return {key.slot, key.tid, key.record, key.source};
}

void PutClientTotals::add(Client client, std::uint64_t count) {
  const auto found = totals_.find(client);
  if (found != totals_.end()) {
    found->second += count;
  } else if (totals_.size() < limit_) {
    totals_.emplace(std::move(client), count);
  } else {
    over_limit_ += count;
  }
}

void PutClientTotals::take_in(const iocx_put_client_key& key, std::uint64_t count,
                              const std::string& client, bool shown) {
  if (client.empty() && !shown) return;
  std::uint64_t& taken = taken_[thread_of(key)];
  if (count <= taken) return;
  if (!client.empty()) add({key.slot, key.record, key.source, client}, count - taken);
  taken = count;
}

void PutClientTotals::forget(const iocx_put_client_key& key) {
  taken_.erase(thread_of(key));
}

void PutClientTotals::forget_slot(std::uint32_t slot) {
  std::erase_if(taken_, [slot](const auto& entry) { return entry.first.slot == slot; });
  std::erase_if(totals_, [slot](const auto& entry) { return entry.first.slot == slot; });
}

std::vector<ClientPuts> PutClientTotals::of(std::uint32_t slot) const {
  std::vector<ClientPuts> puts;
  for (auto at = totals_.lower_bound({slot, 0, 0, ""}); at != totals_.end(); ++at) {
    const auto& [key, count] = *at;
    if (key.slot != slot) break;
    puts.push_back({key.record, static_cast<iocx_put_source>(key.source), key.client, count});
  }
  return puts;
}

}  // namespace ioc_exporter::records
