// A scrape: from a snapshot to the text of /metrics.
#pragma once

#include <string>

#include "metrics/encoder.h"
#include "metrics/histogram_edges.h"
#include "metrics/record_labels.h"
#include "metrics/self_families.h"
#include "probes/samples.h"

namespace ioc_exporter::metrics {

// Which edges of the histograms the text formats show.
struct ShownEdges {
  HistogramEdges process;                           // of kProcessScale
  HistogramEdges puts = HistogramEdges::of_puts();  // of kPutScale
};

// Everything that is known, through any encoder: IOCs, records, puts, then the exporter itself.
// The reference of all families is docs/metrics.md.
// `cache`: to be the same at all scrapes.
void encode_snapshot(const Snapshot& snapshot, const ExporterInfo& exporter,
                     const ShownEdges& edges, LabelCache& cache, Encoder& encoder);

// The same in text format 0.0.4, once.
std::string render_text(const Snapshot& snapshot, const ExporterInfo& exporter,
                        const ShownEdges& edges = {});

}  // namespace ioc_exporter::metrics
