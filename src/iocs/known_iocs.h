// KnownIocs: the view that the next scan of the host changes. Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "iocs/find/finder.h"
#include "iocs/host_view.h"

namespace ioc_exporter::iocs {

class KnownIocs : public HostView {
 public:
  // Limit of log lines a minute about IOCs that come and go: more than an honest host has, also
  // when it boots.
  static constexpr std::uint64_t kMostLines = 2048;

  using HostView::HostView;

  void apply(const Changes& changes, std::uint64_t left_out, Clock::time_point now);
  // Null: it has ended.
  LiveIoc* to_change(const IocId& id, std::uint64_t serial);
  // Their databases lack records that they have.
  void mark_outdated(const std::set<std::string>& iocs);
  std::uint32_t number_of(const std::string& name);
  void release(const std::string& name);
  std::vector<std::uint32_t> take_forgotten() { return gone_.take_forgotten(); }
  // Something has changed since the last call.
  bool take_changed() { return std::exchange(changed_, false); }

 private:
  void begin_life(LiveIoc& live, const Ioc& ioc, Clock::time_point now);
  void start(const Ioc& ioc, Clock::time_point now);
  void leave_name(const Ioc& ioc, Clock::time_point now);
  void change(const Ioc& ioc, Clock::time_point now);
  void end(const Ioc& ioc, Clock::time_point now);
  bool may_log(Clock::time_point now);

  bool changed_ = false;
  LogBound comings_and_goings_{kMostLines};
  std::uint64_t next_serial_ = 1;
};

}  // namespace ioc_exporter::iocs
