// Collector: one capability of the exporter: its programs in the kernel, its totals, its families
// on /metrics and its part of the page at "/". The loop (app/daemon.h) calls collectors by this
// interface only.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ioc_exporter {

namespace exposition {
struct Page;
struct StatusPage;
}  // namespace exposition

// Programs of a collector that are loaded into the kernel together.
struct ProbeState {
  std::string name;     // the label `probe`
  std::string problem;  // why they are not loaded; "" = they are
};

class Collector {
 public:
  using Clock = std::chrono::steady_clock;
  using TimePoint = Clock::time_point;

  virtual ~Collector() = default;

  // The label `collector` of its duration and success.
  virtual std::string_view name() const = 0;

  // False: the operator turned it off; it then has no duration and success.
  virtual bool is_enabled() const { return true; }
  virtual std::vector<ProbeState> probes() const { return {}; }

  // Called when the IOCs of the host have changed, or may have, in the thread that ticks: it takes
  // the host's view, so that an IOC appears on a page together with its data. Must not wait for an
  // IOC.
  virtual void follow(TimePoint now) { static_cast<void>(now); }

  // Regular work, in the one thread that ticks. It logs a failure itself, once, with action and
  // object (base/log.h).
  virtual void tick(TimePoint now) { static_cast<void>(now); }

  // Work that is due at a moment between two ticks, if there is any; same thread as tick().
  virtual std::optional<TimePoint> next_due() { return std::nullopt; }
  virtual void act_on_due(TimePoint now) { static_cast<void>(now); }

  // Its families of one scrape, and its samples about itself. In any thread.
  virtual void collect(exposition::Page& page) = 0;

  // Its part of the page at "/" and of --check. In any thread.
  virtual void status(exposition::StatusPage& page) { static_cast<void>(page); }

  // Takes its probes off, and puts them back. In any thread, one at a time.
  virtual void detach() {}
  virtual void attach() {}

 protected:
  Collector() = default;
  Collector(const Collector&) = default;
  Collector& operator=(const Collector&) = default;
};

}  // namespace ioc_exporter
