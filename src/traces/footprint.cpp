#include "traces/footprint.h"

#include <string>

#include "putlog/queue.h"

namespace ioc_exporter::traces {
namespace {

constexpr std::size_t kBlock = 32;  // what the allocator adds, and what counts a share

}  // namespace

std::size_t footprint(const Trace& trace) {
  std::size_t bytes = sizeof trace + kBlock + trace.spans.capacity() * sizeof(Span) + kBlock +
                      trace.why.capacity() * sizeof(std::string) + kBlock;
  for (const std::string* text :
       {&trace.ioc, &trace.thread, &trace.cause.kind, &trace.cause.scan, &trace.cause.client,
        &trace.cause.user, &trace.cause.client_host, &trace.cause.pv, &trace.cause.op})
    bytes += putlog::footprint_of(*text);
  for (const std::string& why : trace.why) bytes += putlog::footprint_of(why);
  for (const Span& span : trace.spans)
    for (const std::string* text :
         {&span.name, &span.record_type, &span.skipped, &span.alarm, &span.status, &span.thread})
      bytes += putlog::footprint_of(*text);
  return bytes + putlog::footprint_of(trace.cause.value);
}

}  // namespace ioc_exporter::traces
