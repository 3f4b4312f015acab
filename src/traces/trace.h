// A trace: the chain of records that one put, scan or callback started, as a tree of spans.
//
// Unknown values are absent (an empty text, no value).
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "delivery/sink_sample.h"
#include "putlog/event.h"

namespace ioc_exporter::traces {

using Time = std::chrono::sys_time<std::chrono::nanoseconds>;  // wall clock
using Duration = std::chrono::nanoseconds;

// As W3C's Trace Context has it: 16 bytes, never all 0. A continuation has the id of the trace that
// it continues.
using TraceId = std::array<std::uint8_t, 16>;
using SpanId = std::uint64_t;  // unique within a trace; 0: none

enum class SpanKind : std::uint8_t {
  process,   // a call of dbProcess
  put,       // the put of a client, which made the first record process
  link_put,  // a record's put through a Channel Access link
  // A put of a client of Channel Access in the IOC's own process to its own record: the sequencer,
  // a CA link, device support.
  inside_put,
};

struct Span {
  SpanKind kind = SpanKind::process;
  SpanId id = 0;
  SpanId parent = 0;  // 0: the root
  // The record; of a put the PV, as it was asked for. What has no name is "0x" and
  // its address.
  std::string name = {};
  std::string record_type = {};
  Time start{};
  // From the start to the end: of an asynchronous record, to its completion.
  Duration duration{};
  Duration self{};  // of dbProcess, without the records that it processed in turn
  // Of an asynchronous record that has completed, or whose completion was not seen: until dbProcess
  // returned.
  std::optional<Duration> until_return = {};
  // "active", "disabled": the record did not process; "disconnected": the link could not send.
  std::string skipped = {};
  std::string alarm = {};   // its severity afterwards: "MINOR", "MAJOR", "INVALID"; "" = none
  std::string status = {};  // with an alarm: "HIHI" and so on
  std::string thread = {};  // that completed it, where it is another than the trace's
  bool cut = false;         // its end was not seen: `duration` is a lower bound
  bool operator==(const Span&) const = default;
};

// Cause of the first record's processing.
struct Cause {
  std::string kind;       // as epics_ioc_process_total has it, and io_intr (causes.h)
  std::string scan = {};  // "1 second", "I/O Intr" where it is known
  // Of a put.
  std::string client = {}, user = {}, client_host = {}, pv = {}, op = {};
  std::optional<putlog::Value> value = {};  // while the put log is on
  std::uint64_t seq = 0;                    // the put's in the put log; 0: none
  bool operator==(const Cause&) const = default;
};

struct Trace {
  TraceId id{};
  SpanId parent = 0;  // of its root: where it continues a trace that could not wait; 0: none
  std::string ioc = {};
  std::int32_t pid = 0;     // as the exporter sees it
  std::string thread = {};  // its name
  std::int32_t tid = 0;
  Cause cause;
  // Why it was chosen: "rate", "asked", "slower", "alarm", "active".
  std::vector<std::string> why = {};
  bool cut = false;  // spans are missing, or have no end
  // The root first, each span before its children, which are sorted by their start.
  std::vector<Span> spans = {};
  bool operator==(const Trace&) const = default;
};

// For delivery/pack.h: all members, or it does not compile.
auto parts_of(delivery::Is<Span> auto& span) {
  auto& [kind, id, parent, name, record_type, start, duration, self, until_return, skipped, alarm,
         status, thread, cut] = span;
  return std::tie(kind, id, parent, name, record_type, start, duration, self, until_return, skipped,
                  alarm, status, thread, cut);
}
auto parts_of(delivery::Is<Cause> auto& cause) {
  auto& [kind, scan, client, user, client_host, pv, op, value, seq] = cause;
  return std::tie(kind, scan, client, user, client_host, pv, op, value, seq);
}
auto parts_of(delivery::Is<Trace> auto& trace) {
  auto& [id, parent, ioc, pid, thread, tid, cause, why, cut, spans] = trace;
  return std::tie(id, parent, ioc, pid, thread, tid, cause, why, cut, spans);
}

// Shared by all receivers, hence never changed.
using SharedTrace = std::shared_ptr<const Trace>;

// Receiver of whole traces, on one thread. It must not wait.
class TraceReceiver {
 public:
  virtual ~TraceReceiver() = default;
  virtual void receive(std::span<const SharedTrace> traces) = 0;
  // Of the sinks that it gives them to. In any thread.
  virtual std::vector<delivery::SinkSample> samples() const { return {}; }
};

}  // namespace ioc_exporter::traces
