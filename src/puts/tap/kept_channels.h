// Names of channels that are open, as they outlive the exporter: of servers whose memory does not
// tell them. Their text is one of StateWriter's.
//
// A circuit is known again by its socket: the kernel gives no other one its cookie until the host
// starts again. What was opened since the last writing has no name; a channel whose SID was used
// again on the same circuit meanwhile has the name of the one before.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/state_files.h"
#include "puts/tap/tap_seed.h"

namespace ioc_exporter::ca {

class CaTap;

struct CaKeptCircuit {
  std::uint64_t net_inode = 0;  // of its network namespace: numbers change with each run
  std::uint64_t cookie = 0;     // of its socket, at the server's end where that is here (SO_COOKIE)
  CaSeedCircuit circuit;

  bool operator==(const CaKeptCircuit&) const = default;
};
using CaKeptCircuits = std::vector<CaKeptCircuit>;

inline constexpr StateFiles::Names kChannelFiles = {"channels.1", "channels.2"};
inline constexpr std::size_t kLargestChannelFile = 32u << 20;

// `boot`: the kernel's id of this start of the host. Circuits that have no room in the largest file
// are left out.
std::string to_bytes(std::uint64_t generation, const std::string& boot,
                     const CaKeptCircuits& circuits);

struct ReadChannels {
  std::uint64_t generation = 0;
  std::string boot;
  CaKeptCircuits circuits;
};
Result<ReadChannels> channels_from_bytes(std::string_view bytes);

// The files: reads them at the start, writes them now and then, by a thread of its own, and at the
// end. Not thread-safe.
class ChannelsKeeper {
 public:
  using Clock = std::chrono::steady_clock;
  // A killed exporter loses the names of what was opened since.
  static constexpr std::chrono::seconds kPause{30};
  // How long the servers of an earlier run's circuits may take to be found.
  static constexpr std::chrono::seconds kPatience{120};
  // IOCs, by their numbers, whose memory tells the names of their channels.
  using Telling = std::set<std::uint32_t>;

  // "" = nothing is kept.
  void open(const std::string& folder, const std::string& boot, Clock::time_point now);
  bool is_open() const { return file_.is_open(); }
  // Gives the tap the names of the earlier run, as far as it watches their servers by now, and
  // writes what is open, once in kPause, if it has changed.
  Result<void> look(CaTap& tap, const Telling& telling, Clock::time_point now);
  // Writes at the end.
  Result<void> keep_now(CaTap& tap, const Telling& telling);

  // "": all is well, or nothing is to be kept.
  const std::string& problem() const { return file_.problem(); }
  const StateSample& sample() const { return file_.sample(); }

 private:
  Result<bool> read(CaTap& tap, const Telling& telling);
  StateKeeper::Encode encode() const;

  std::string boot_;
  Clock::time_point until_{};
  CaKeptCircuits before_;  // of the earlier run, whose servers were not found yet
  std::shared_ptr<const CaKeptCircuits> kept_;  // as written last
  StateKeeper file_{"channels", "names of open channels", kPause};
};

}  // namespace ioc_exporter::ca
