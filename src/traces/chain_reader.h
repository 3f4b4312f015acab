// ChainReader: makes Traces of the events of the kernel's programs (bpf/shared/traces.h): puts the
// parts of a chain together, joins the chain of an asynchronous record's completion to the chain
// that started it, and adds names and the time of day.
//
// A trace waits for the completions of its asynchronous records, for kPatience at most, for the
// names of the client and PV of its put, for kNamePatience, and for the end of a put with callback,
// for kPutPatience. A trace that lacks one of them is cut.
//
// Not thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/wall_clock.h"
#include "iocs/samples.h"
#include "shared/traces.h"
#include "traces/trace.h"

namespace ioc_exporter::traces {

// Where names come from.
class TraceDirectory {
 public:
  struct Ioc {
    std::string name;
    std::int32_t pid = 0;
    std::shared_ptr<const Database> database;  // null: no names are known
    bool runs = true;
  };
  virtual ~TraceDirectory() = default;
  // Null: not known, or not any more.
  virtual const Ioc* ioc(std::uint32_t slot, std::uint32_t generation) const = 0;
  // Fills in client and PV of a Channel Access put, also of one inside the IOC. False: the PV is
  // not known, but may be later.
  virtual bool name_put(const iocx_trace_put& put, Cause& cause) = 0;
  // When the put with callback was done, or given up (CLOCK_MONOTONIC, ns); nothing: not yet.
  virtual std::optional<std::uint64_t> put_end(const iocx_trace_put& put) = 0;
  // The PV of a Channel Access link of an IOC, by its channel; "": not known, or not any more.
  virtual std::string link_name(std::uint32_t generation, std::uint64_t channel) = 0;
};

class ChainReader {
 public:
  static constexpr std::chrono::nanoseconds kPatience{IOCX_TRACE_PATIENCE_NS};
  static constexpr std::chrono::milliseconds kNamePatience{1000};
  static constexpr std::chrono::minutes kPutPatience{10};
  // The chain of a completion begins within this time.
  static constexpr std::chrono::milliseconds kSettle{50};
  // A chain whose first part has come; it may take long.
  static constexpr std::chrono::seconds kPartPatience{60};
  static constexpr std::size_t kMostSpans = 1u << 18;  // that may wait, 100 bytes each

  struct Counts {
    std::uint64_t unknown_ioc = 0;  // traces that were thrown away: their IOC is not known
    std::uint64_t crowded = 0;      // those that had to go before they were complete
    std::uint64_t malformed = 0;    // events
  };

  // `salt`: of this run of the exporter, so that no two runs give the same ids.
  ChainReader(TraceDirectory& directory, std::uint64_t salt) : directory_(directory), salt_(salt) {}

  // One event of the ring. False: it is none.
  bool take(std::span<const std::byte> raw);
  // Traces that are done, in the order of their ends. `now`: at this moment; `last`: nobody waits
  // any more.
  std::vector<Trace> finish(const WallClock::Reading& now, bool last = false);

  const Counts& counts() const { return counts_; }
  // Whether there is nothing that finish() is to look at.
  bool is_idle() const { return waiting_.empty() && partial_.empty(); }

 private:
  using SpanKey = std::pair<std::uint64_t, std::uint16_t>;  // chain and number
  struct Chain {
    iocx_trace_chain head{};
    std::vector<iocx_trace_span> spans;
    bool incomplete = false;  // of its parts one is missing
  };
  struct Completion {
    std::uint64_t time = 0, owner = 0;
    std::string thread;
  };
  struct Waiting {
    std::vector<Chain> chains;         // the first is the root's
    std::set<SpanKey> open;            // asynchronous, not completed
    std::set<std::uint64_t> expected;  // chains that have begun
    std::map<SpanKey, Completion> completions;
    std::uint64_t until_ns = 0, settled_ns = 0;
    std::size_t spans = 0;
    Cause put;  // only the put's fields
    bool is_named = true;
    bool put_waits = false;
    std::uint64_t put_end_ns = 0, look_ns = 0;  // next look whether the put is done
    TraceId id{};
  };

  bool take_chain(const iocx_trace_chain& head, std::span<const std::byte> spans);
  void add(Chain chain);
  Waiting* waiting_of(std::uint64_t chain);
  bool name_put(Waiting& trace, std::uint64_t now_ns);
  bool has_put_end(Waiting& trace, std::uint64_t now_ns);
  bool is_done(Waiting& trace, std::uint64_t now_ns);
  void name_link_put(Span& span, std::uint32_t generation, const iocx_trace_span& raw);
  void name_inside_put(Span& span, const iocx_trace_span& raw);
  void forget(const Waiting& trace);
  std::optional<Trace> make(const Waiting& trace, const WallClock::Reading& now);

  TraceDirectory& directory_;
  std::uint64_t salt_;
  std::unordered_map<std::uint64_t, Chain> partial_;
  std::unordered_map<std::uint64_t, Cause> pva_puts_;        // by the chain that comes
  std::map<std::uint64_t, Waiting> waiting_;                 // in the order in which they ended
  std::unordered_map<std::uint64_t, std::uint64_t> places_;  // in waiting_, by chain
  std::uint64_t next_place_ = 0;
  std::size_t spans_ = 0;
  Counts counts_;
};

}  // namespace ioc_exporter::traces
