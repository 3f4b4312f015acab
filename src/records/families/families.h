// All families of the records, in their order on the page.
#pragma once

#include <optional>
#include <vector>

#include "exposition/encoder.h"
#include "kernel/hit_cost.h"
#include "records/families/record_families.h"
#include "records/families/samples.h"

namespace ioc_exporter::records {

// Which edges of the histograms the text formats show.
struct ShownEdges {
  using Edges = exposition::HistogramEdges;
  static ShownEdges apart(exposition::EdgeStep step) {
    return {Edges(step), Edges::of_scans(step), Edges::of_puts(step)};
  }

  Edges process = Edges();               // of kProcessScale
  Edges scans = Edges::of_scans();       // of kPutScale
  Edges completions = Edges::of_puts();  // the same
};

// `by_type`: the same IOCs, with sums by record type that durations are shown of; null: of each
// record. `cache`: to be the same at all scrapes. `cost`: nothing when it was not measured.
void encode_all(const std::vector<IocSample>& iocs, const std::vector<IocSample>* by_type,
                const std::optional<kernel::HitCost>& cost, const ShownEdges& edges,
                LabelCache& cache, exposition::Encoder& encoder);

}  // namespace ioc_exporter::records
