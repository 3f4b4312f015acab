#include "metrics/render.h"

#include <cassert>

#include "metrics/ca_families.h"
#include "metrics/cause_families.h"
#include "metrics/health_families.h"
#include "metrics/ioc_families.h"
#include "metrics/ioc_memory_families.h"
#include "metrics/link_families.h"
#include "metrics/overhead_families.h"
#include "metrics/policy_families.h"
#include "metrics/prometheus_family.h"
#include "metrics/put_families.h"
#include "metrics/record_extra_families.h"
#include "metrics/record_families.h"
#include "metrics/record_put_families.h"
#include "metrics/text_encoder.h"

namespace ioc_exporter::metrics {
namespace {

// Upper estimates of a line's length; what is missing only costs a copy.
std::size_t estimated_size(const Snapshot& snapshot, const ShownEdges& edges) {
  constexpr std::size_t kLine = 110;
  const std::size_t lines_per_sample = edges.process.ks().size() + 6;
  std::size_t lines = 100 + snapshot.puts.size() * 3 + snapshot.pvs.size() +
                      snapshot.put_failures.size() + snapshot.searches.size() +
                      snapshot.unexpected_puts.size() + snapshot.policy_rules.size() +
                      snapshot.ca_servers.size() * 15 + snapshot.ca_clients.size() * 3 +
                      snapshot.put_durations.size() * (edges.puts.ks().size() + 3);
  for (const IocSample& ioc : snapshot.iocs) {
    lines += 88 + ioc.records.size() * lines_per_sample;
    if (ioc.database) lines += ioc.database->records.size() * 2;
  }
  return lines * kLine;
}

void encode_all(const std::vector<prometheus::MetricFamily>& families, Encoder& encoder) {
  for (const prometheus::MetricFamily& family : families) {
    [[maybe_unused]] const bool encoded = encode(family, encoder);
    assert(encoded);  // they are counters and gauges only
  }
}

}  // namespace

void encode_snapshot(const Snapshot& snapshot, const ExporterInfo& exporter,
                     const ShownEdges& edges, LabelCache& cache, Encoder& encoder) {
  encoder.reserve(estimated_size(snapshot, edges));
  cache.drop_gone();
  const auto iocs = distinct_iocs(snapshot);
  encode_iocs(iocs, encoder);
  encode_health(iocs, encoder);
  encode_ioc_memory(iocs, encoder);
  encode_records(iocs, edges.process, cache, encoder);
  encode_causes(iocs, encoder);
  encode_links(iocs, encoder);
  encode_record_puts(iocs, encoder);
  encode_completions(iocs, edges.puts, encoder);
  encode_scan_lists(iocs, encoder);
  encode_puts(snapshot, edges.puts, encoder);
  encode_policy(snapshot, encoder);
  encode_ca_servers(snapshot.ca_servers, encoder);
  encode_ca_clients(snapshot.ca_clients, encoder);
  encode_ca_network(snapshot, encoder);
  encode_all(overhead_families(snapshot), encoder);
  encode_all(self_families(snapshot, exporter), encoder);
}

std::string render_text(const Snapshot& snapshot, const ExporterInfo& exporter,
                        const ShownEdges& edges) {
  TextEncoder encoder;
  LabelCache cache;
  encode_snapshot(snapshot, exporter, edges, cache, encoder);
  return encoder.take();
}

}  // namespace ioc_exporter::metrics
