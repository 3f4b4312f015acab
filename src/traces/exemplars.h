// TraceExemplars: lets histograms of calls and of puts refer to the trace of one of them.
#pragma once

#include <span>

#include "exposition/exemplar_book.h"
#include "traces/trace.h"

namespace ioc_exporter::traces {

class TraceExemplars final : public TraceReceiver {
 public:
  // It must outlive this.
  explicit TraceExemplars(exposition::ExemplarBook& book) : book_(book) {}

  // Of each record's calls the last one that was seen to its end. Of put-callbacks the last one to
  // each PV, with the duration of the chain that the put began.
  void receive(std::span<const SharedTrace> traces) override;

 private:
  void note(const Trace& trace, std::string_view trace_id);

  exposition::ExemplarBook& book_;
};

}  // namespace ioc_exporter::traces
