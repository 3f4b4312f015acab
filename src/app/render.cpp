#include "app/render.h"

#include <cassert>

#include "ca/families.h"
#include "records/cause_families.h"
#include "iocs/health_families.h"
#include "iocs/families.h"
#include "records/memory_families.h"
#include "records/link_families.h"
#include "records/overhead_families.h"
#include "policy/families.h"
#include "exposition/prometheus_family.h"
#include "ca/put_families.h"
#include "records/extra_families.h"
#include "records/families.h"
#include "records/put_families.h"
#include "exposition/text_encoder.h"

namespace ioc_exporter::app {
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

void encode_all(const std::vector<prometheus::MetricFamily>& families, exposition::Encoder& encoder) {
  for (const prometheus::MetricFamily& family : families) {
    [[maybe_unused]] const bool encoded = exposition::encode(family, encoder);
    assert(encoded);  // they are counters and gauges only
  }
}

}  // namespace

void encode_snapshot(const Snapshot& snapshot, const ExporterInfo& exporter,
                     const ShownEdges& edges, records::LabelCache& cache, exposition::Encoder& encoder) {
  encoder.reserve(estimated_size(snapshot, edges));
  cache.drop_gone();
  const auto iocs = iocs::distinct_iocs(snapshot);
  iocs::encode_iocs(iocs, encoder);
  iocs::encode_health(iocs, encoder);
  records::encode_ioc_memory(iocs, encoder);
  records::encode_records(iocs, edges.process, cache, encoder);
  records::encode_causes(iocs, encoder);
  records::encode_links(iocs, encoder);
  records::encode_record_puts(iocs, encoder);
  records::encode_completions(iocs, edges.puts, encoder);
  records::encode_scan_lists(iocs, encoder);
  ca::encode_puts(snapshot, edges.puts, encoder);
  policy::encode_policy(snapshot, encoder);
  ca::encode_ca_servers(snapshot.ca_servers, encoder);
  ca::encode_ca_clients(snapshot.ca_clients, encoder);
  ca::encode_ca_network(snapshot, encoder);
  encode_all(records::overhead_families(snapshot), encoder);
  encode_all(self_families(snapshot, exporter), encoder);
}

std::string render_text(const Snapshot& snapshot, const ExporterInfo& exporter,
                        const ShownEdges& edges) {
  exposition::TextEncoder encoder;
  records::LabelCache cache;
  encode_snapshot(snapshot, exporter, edges, cache, encoder);
  return encoder.take();
}

}  // namespace ioc_exporter::app
