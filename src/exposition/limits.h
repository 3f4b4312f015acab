// Limits: how many series of their own things may have, as flags and the file say it.
#pragma once

#include <array>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>

#include "base/result.h"

namespace ioc_exporter {
class Reader;
}

namespace ioc_exporter::exposition {

// How many series of their own the things of a kind may have; what the file does not say is empty.
// A thing is a record, a PV that a client wrote to, ... and may have a series in several families.
struct Limit {
  std::optional<std::uint64_t> series;      // of all together
  std::optional<std::uint64_t> per_ioc;     // of one IOC
  std::optional<std::uint64_t> per_client;  // of one client's address
};

inline constexpr std::uint64_t kMostSeries = 10'000'000;

// Keys of `limits`, in the order of the documents. `ioc`, `client`: which bounds a kind has.
struct LimitKind {
  const char* name;
  bool ioc, client;
};
inline constexpr LimitKind kLimitKinds[] = {
    {"records", true, false},       {"puts", true, true},      {"put_failures", true, true},
    {"put_durations", true, false}, {"pvs", true, false},      {"clients", true, true},
    {"searches", false, false},     {"beacons", false, false}, {"unexpected_puts", true, true}};
inline constexpr std::size_t kLimitKindCount = std::size(kLimitKinds);
using Limits = std::array<Limit, kLimitKindCount>;  // in the order of kLimitKinds

// "puts=5000" or "puts.per_client=100", as --limit has it, into `limits`.
Result<void> set_limit(const std::string& text, Limits& limits);

// The section `limits` of the file.
void read_limits(Reader& section, Limits& limits);

}  // namespace ioc_exporter::exposition
