// Options of the put log.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/option_table.h"
#include "putlog/outlet_options.h"

namespace ioc_exporter::putlog {

struct Options {
  bool enabled = false;
  std::uint32_t value_bytes = 512;  // of each value that are kept
  bool after = false;               // log the field's value at the end of the put
  std::uint32_t buffer_mib = 8;     // of the ring between the kernel and the exporter
  std::chrono::milliseconds answer_patience{500};  // for the answers to put-callbacks
  OutletOptions outlets;
};

// Its rows; they refer to `options`.
void add_options(OptionTable& table, Options& options);

}  // namespace ioc_exporter::putlog
