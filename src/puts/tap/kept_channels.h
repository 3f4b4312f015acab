// Names of channels that are open, as they outlive the exporter: written once, at a clean end, and
// taken by a run that begins within kKeptFor. Circuits to gateways and other servers that no probe
// hears live for months.
//
// A circuit is known again by its socket: the kernel gives no other one its cookie until the host
// starts again. What was opened meanwhile has no name; a channel whose SID was used again on the
// same circuit meanwhile has the name of the one before.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "exposition/self_samples.h"

namespace ioc_exporter::puts {

class Tap;

inline constexpr std::chrono::minutes kKeptFor{5};

struct KeptCircuit {
  std::uint64_t seen_ns = 0;                   // CLOCK_MONOTONIC, by the run that has seen it last
  std::string user, host;                      // "": the client gave none
  std::map<std::uint32_t, std::string> names;  // of PVs, by SID

  bool operator==(const KeptCircuit&) const = default;
};
// By their sockets' cookies (SO_COOKIE), at the server's end where that is here.
using KeptCircuits = std::map<std::uint64_t, KeptCircuit>;

// Those with names, and those of the run before that were not met yet.
Result<KeptCircuits> open_circuits(Tap& tap, std::chrono::steady_clock::time_point now);

// `boot`: the kernel's id of this start of the host.
std::string kept_text(const std::string& boot, const KeptCircuits& circuits);
// None where another start of the host has written them.
Result<KeptCircuits> read_kept(std::string_view text, const std::string& boot);

// The file, which stays open from the start to the end. Not thread-safe.
class ChannelsFile {
 public:
  // Opens it and reads what an earlier run has kept. A failure is logged and counted; without a
  // file nothing is kept, as without a folder ("").
  KeptCircuits open(const std::string& folder, const std::string& boot);
  bool is_open() const { return static_cast<bool>(file_); }
  Result<void> write(const KeptCircuits& circuits);

  // "": all is well, or nothing is to be kept.
  const std::string& problem() const { return problem_; }
  const StateSample& sample() const { return sample_; }

 private:
  Result<void> open_file(const std::string& folder);

  std::string path_, boot_, problem_;
  UniqueFd file_;
  StateSample sample_{.state = "channels"};
};

}  // namespace ioc_exporter::puts
