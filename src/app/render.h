// A scrape: from a snapshot to the text of /metrics.
#pragma once

#include <string>

#include "exposition/encoder.h"
#include "exposition/histogram_edges.h"
#include "records/labels.h"
#include "app/self_families.h"
#include "base/samples.h"

namespace ioc_exporter::app {

// Which edges of the histograms the text formats show.
struct ShownEdges {
  exposition::HistogramEdges process;                           // of kProcessScale
  exposition::HistogramEdges puts = exposition::HistogramEdges::of_puts();  // of kPutScale
};

// Everything that is known, through any encoder: IOCs, records, puts, then the exporter itself.
// The reference of all families is docs/metrics.md.
// `cache`: to be the same at all scrapes.
void encode_snapshot(const Snapshot& snapshot, const ExporterInfo& exporter,
                     const ShownEdges& edges, records::LabelCache& cache, exposition::Encoder& encoder);

// The same in text format 0.0.4, once.
std::string render_text(const Snapshot& snapshot, const ExporterInfo& exporter,
                        const ShownEdges& edges = {});

}  // namespace ioc_exporter::app
