// Traces that somebody asks for now, for a while: "ioc_exporter trace RECORD".
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "base/pattern.h"
#include "base/result.h"

namespace ioc_exporter::traces {

struct Demand {
  Pattern records;             // chains in which one of these processes, whole names
  std::optional<Pattern> ioc;  // nothing: of any
  std::chrono::milliseconds lasts{10'000};
  std::optional<std::chrono::nanoseconds> slower;  // only chains that take at least so long
  std::string cause;        // only chains of this cause, as in Cause::kind; "" = any
  std::string holder = {};  // owner; each has a few demands at a time
  std::string ticket = {};  // by which its holder ends it before its time; "" = not at all
};

class DemandTaker {
 public:
  virtual ~DemandTaker() = default;
  // In any thread. How many records it is for: 0, none has such a name. A demand ends by itself;
  // too many at a time, or for too long, is an error in words.
  virtual Result<std::size_t> ask(const Demand& demand) = 0;
  // In any thread: ends the holder's demands with that ticket.
  virtual void end(const std::string& holder, const std::string& ticket) = 0;
};

}  // namespace ioc_exporter::traces
