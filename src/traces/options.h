// Options of choosing the chains of records that become traces.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/option_table.h"
#include "base/pattern.h"

namespace ioc_exporter::traces {

struct Options {
  bool enabled = false;
  double rate = 1;                      // traces a second of each IOC; 0: none by the rate
  std::chrono::milliseconds slower{0};  // all that take so long; 0: none for that
  bool alarms = false;                  // all that raise an alarm
  bool active = false;                  // all that meet an active record
  std::optional<Pattern> records;       // only those in which one of these processes
  std::uint32_t causes = 0;             // bits by enum iocx_cause; 0: all
  std::uint32_t buffer_mib = 4;
};

// Its rows; they refer to `options`.
void add_options(OptionTable& table, Options& options);

}  // namespace ioc_exporter::traces
