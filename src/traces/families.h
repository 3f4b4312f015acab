// Families about traces.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "exposition/encoder.h"

namespace ioc_exporter::traces {

struct TracesSample {
  std::map<std::string, std::uint64_t> made;  // by the first reason why
  std::uint64_t waiting = 0;
};

void encode_traces(const TracesSample& sample, exposition::Encoder& encoder);

}  // namespace ioc_exporter::traces
