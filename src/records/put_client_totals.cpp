#include "records/put_client_totals.h"

namespace ioc_exporter::records {

PutClientTotals::Thread PutClientTotals::thread_of(const iocx_put_client_key& key) {
  return {key.slot, key.tid, key.record, key.source};
}

void PutClientTotals::add(const iocx_put_client_key& key, std::uint64_t count,
                          const std::string& client, bool shown) {
  if (!client.empty())
    totals_.observe(thread_of(key), {key.slot, key.record, key.source, client}, {count});
  else if (shown)
    totals_.pass_over(thread_of(key), {count});
}

void PutClientTotals::forget(const iocx_put_client_key& key) {
  totals_.close(thread_of(key));
}

void PutClientTotals::forget_slot(std::uint32_t slot) {
  const auto is_its = [slot](const auto& entry) { return entry.slot == slot; };
  totals_.close_if(is_its);
  totals_.drop_if(is_its);
}

std::vector<ClientPuts> PutClientTotals::of(std::uint32_t slot) const {
  std::vector<ClientPuts> puts;
  const auto& all = totals_.totals();
  for (auto at = all.lower_bound({slot, 0, 0, ""}); at != all.end(); ++at) {
    const auto& [key, count] = *at;
    if (key.slot != slot) break;
    puts.push_back({key.record, static_cast<iocx_put_source>(key.source), key.client, count[0]});
  }
  return puts;
}

}  // namespace ioc_exporter::records
