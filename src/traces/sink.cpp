#include "traces/sink.h"

#include <utility>

template class ioc_exporter::delivery::SinkRunner<ioc_exporter::traces::TraceKind>;

namespace ioc_exporter::traces {
void Batch::take(SharedTrace trace, Clock::time_point now, std::vector<SharedTrace>& out) {
  spans_ += trace->spans.size();
  held_.push_back(std::move(trace));
  if (!due_) due_ = now + window_;
  if (spans_ >= kSpans || window_.count() == 0) end_all(out);
}

void Batch::end_due(Clock::time_point now, std::vector<SharedTrace>& out) {
  if (due_ && *due_ <= now) end_all(out);
}

void Batch::end_all(std::vector<SharedTrace>& out) {
  for (SharedTrace& trace : held_) out.push_back(std::move(trace));
  held_.clear();
  spans_ = 0;
  due_.reset();
}

}  // namespace ioc_exporter::traces
