// Snapshot: what all rooms show, made by hand, and what a scrape of it is: the same functions that
// the collectors call, one after the other.
#pragma once

#include <set>

#include "app/self_families.h"
#include "delivery/sink_families.h"
#include "exposition/prometheus_family.h"
#include "exposition/self_samples.h"
#include "exposition/text_encoder.h"
#include "functions/families.h"
#include "iocs/families.h"
#include "policy/families.h"
#include "puts/totals/bounds.h"
#include "puts/totals/put_families.h"
#include "puts/totals/samples.h"
#include "records/families/bounds.h"
#include "records/families/families.h"
#include "records/families/samples.h"

namespace ioc_exporter {

struct Snapshot : PutsSamples, PolicySamples, SelfSamples {
  std::vector<IocSample> iocs;
  std::optional<std::vector<IocSample>> by_type;  // with --series=site
  PutsSamples pva;
  std::vector<functions::FunctionSample> functions;
  std::vector<functions::WatchedSample> functions_watched;
  std::vector<delivery::SinkSample> put_sinks, trace_sinks;
  std::uint64_t left_out = 0;
  std::vector<std::string> expected_iocs;
  std::optional<kernel::HitCost> hit_cost;  // nothing when it was not measured
};

inline void encode_snapshot(const Snapshot& snapshot, const app::ExporterInfo& exporter,
                            const records::ShownEdges& edges, records::LabelCache& cache,
                            exposition::Encoder& encoder) {
  const auto distinct = iocs::distinct_iocs(snapshot.iocs);
  const std::vector<const IocFacts*> facts(distinct.begin(), distinct.end());
  iocs::encode_iocs(facts, encoder);
  iocs::encode_expected(snapshot.expected_iocs, encoder);
  iocs::encode_left_out(snapshot.left_out, encoder);
  records::encode_all(snapshot.iocs, snapshot.by_type ? &*snapshot.by_type : nullptr,
                      snapshot.hit_cost, edges, cache, encoder);
  exposition::SharedFamilies shared;
  puts::encode_puts(snapshot, edges.completions, encoder, shared);
  puts::add_puts(snapshot.pva, edges.completions, encoder, shared);
  functions::encode_functions(snapshot.functions, snapshot.functions_watched, edges.scans,
                              !snapshot.by_type, encoder);
  policy::encode_policy(snapshot, encoder);
  delivery::add_sinks("puts", snapshot.put_sinks, encoder, shared);
  delivery::add_sinks("traces", snapshot.trace_sinks, encoder, shared);
  shared.encode(encoder);
  exposition::encode_all(app::self_families(snapshot, exporter), encoder);
}

inline std::string render_text(const Snapshot& snapshot, const app::ExporterInfo& exporter,
                               const records::ShownEdges& edges = {}) {
  exposition::TextEncoder encoder;
  records::LabelCache cache;
  encode_snapshot(snapshot, exporter, edges, cache, encoder);
  return encoder.take();
}

// All rooms' bounds, as the collectors apply them.
class Bounds {
 public:
  explicit Bounds(const exposition::BoundsOptions& options)
      : ca_(options), pva_(options, true), unexpected_(options.limits.unexpected_puts) {
    configure(options);
  }

  void configure(const exposition::BoundsOptions& options) {
    records_.configure(options);
    types_.configure(options);
    is_of_site_ = options.set == exposition::SeriesSet::site;
    ca_.configure(options);
    pva_.configure(options);
    unexpected_.configure(options.limits.unexpected_puts);
  }

  void apply(Snapshot& snapshot) {
    std::set<std::string> names = {""};
    for (const IocSample& ioc : snapshot.iocs) names.insert(ioc.name);
    for (const ServerSample& server : snapshot.servers) names.insert(server.ioc);
    const auto known = [&names](const std::string& name) { return names.contains(name); };
    if (is_of_site_) types_.apply(snapshot.by_type.emplace(snapshot.iocs));
    records_.apply(snapshot.iocs);
    ca_.apply(snapshot, known);
    pva_.apply(snapshot.pva, known);
    if (!snapshot.puts_missing || !snapshot.unexpected_puts.empty())
      unexpected_.apply(snapshot, known);
    snapshot.limited = {{"records", records_.limited()}};
    for (LimitedSample& limited : ca_.limited()) snapshot.limited.push_back(std::move(limited));
    snapshot.limited.push_back({"unexpected_puts", unexpected_.limited()});
  }

 private:
  records::RecordBounds records_, types_{true};
  bool is_of_site_ = false;
  puts::PutBounds ca_, pva_;
  policy::UnexpectedBounds unexpected_;
};

}  // namespace ioc_exporter
