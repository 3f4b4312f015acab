#include "puts/pending.h"

#include <algorithm>
#include <utility>

#include "base/time_text.h"
#include "exposition/json_text.h"
#include "puts/tables.h"
#include "puts/totals/put_families.h"

namespace ioc_exporter::puts {

using exposition::append_json_list;
using exposition::JsonObject;

std::vector<PendingPutsSample> pending_samples(const IocNames& names, PendingPuts pending,
                                               const WallClock::Reading& now) {
  std::map<std::uint32_t, PendingPutsSample> by_ioc;
  for (const std::uint32_t number : pending.watched)
    if (const auto name = names.find(number);
        name != names.end() && !pending.unheard.contains(number))
      by_ioc[number].ioc = name->second;
  std::ranges::sort(pending.puts, {}, &PendingPut::since_ns);
  for (PendingPut& put : pending.puts) {
    const auto found = by_ioc.find(put.labels.ioc);
    if (found == by_ioc.end()) continue;
    PendingPutsSample& ioc = found->second;
    const double age = std::max(
        0.0, static_cast<double>(now.monotonic_ns - static_cast<std::int64_t>(put.since_ns)) / 1e9);
    if (ioc.count++ == 0) ioc.oldest_seconds = age;
    if (ioc.oldest.size() == kPendingShown) continue;
    PutLabels& labels = put.labels;
    ioc.oldest.push_back({ioc.ioc, std::move(labels.pv), std::move(labels.client),
                          std::move(labels.user), std::move(labels.host),
                          labels.inside ? "inside" : std::string(protocol_of(put.by_pva)),
                          static_cast<double>(now.realtime_ns) / 1e9 - age});
  }
  std::vector<PendingPutsSample> samples;
  for (auto& [number, sample] : by_ioc) samples.push_back(std::move(sample));
  std::ranges::sort(samples, {}, &PendingPutsSample::ioc);
  return samples;
}

std::string to_json(const std::vector<PendingPutsSample>& pending) {
  std::string out;
  append_json_list(out, pending, [&out](const PendingPutsSample& ioc) {
    JsonObject object(out);
    object.any_text("ioc", ioc.ioc);
    object.number("pending", ioc.count);
    object.number("oldest_seconds", ioc.oldest_seconds);
    append_json_list(object.key("oldest"), ioc.oldest, [&out](const PendingPutSample& put) {
      JsonObject one(out);
      one.any_text("pv", put.pv);
      one.any_text("client", put.client);
      one.any_text("user", put.user);
      one.any_text("client_host", put.host);
      one.any_text("protocol", put.protocol);
      one.text("time", time_text(put.since_seconds));
    });
  });
  return out + "\n";
}

}  // namespace ioc_exporter::puts
