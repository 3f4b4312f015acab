#include "traces/exemplars.h"

#include <chrono>
#include <string>

#include "puts/totals/put_families.h"
#include "records/families/record_families.h"
#include "traces/json.h"

namespace ioc_exporter::traces {

void TraceExemplars::receive(std::span<const SharedTrace> traces) {
  for (const SharedTrace& trace : traces) note(*trace, id_text(trace->id));
}

void TraceExemplars::note(const Trace& trace, std::string_view trace_id) {
  using Seconds = std::chrono::duration<double>;
  exposition::ExemplarBook::Note note;
  note.labels = {{"trace_id", trace_id}};
  for (const Span& span : trace.spans) {
    if (span.cut || !span.skipped.empty()) continue;
    const bool is_put = span.kind == SpanKind::put && trace.cause.op == "write_notify";
    if (!is_put && span.kind != SpanKind::process) continue;
    note.family = is_put ? ca::kPutDurations : records::kProcessDurations;
    note.series = {{"ioc", trace.ioc}};
    if (is_put) note.series.push_back({"protocol", ca::kCa});
    note.series.push_back({is_put ? "pv" : "record", span.name});
    note.value = Seconds(span.until_return.value_or(span.duration)).count();
    note.time_seconds = Seconds(span.start.time_since_epoch()).count();
    book_.note(note);
  }
}

}  // namespace ioc_exporter::traces
