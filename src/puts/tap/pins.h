// A directory of a bpffs that keeps the tap's tables from one run of the exporter to the next.
//
// One process has it at a time: an exclusive flock(2) on the directory, until the object goes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "kernel/map.h"

struct bpf_map;

namespace ioc_exporter::ca {

class CaPins {
 public:
  // Makes the last part of the path where it is missing. Fails when the directory is not in a
  // bpffs, with device_or_resource_busy when another process has it.
  static Result<CaPins> open(const std::string& directory);

  // Before the maps are loaded: gives them what is pinned, when that is of this layout, all of it
  // is there, and its sizes are those of the maps. Else they are to be made anew; why_anew() says
  // why.
  Result<void> adopt(const std::vector<bpf_map*>& maps, std::uint32_t max_circuits);
  // After they were loaded: pins those that were not adopted, in place of all that is there.
  Result<void> pin(const std::vector<bpf_map*>& maps);

  bool adopted() const { return adopted_; }
  // What was dropped, and why; "" when there was nothing to adopt.
  const std::string& why_anew() const { return why_anew_; }

  // When note_alive() was called for the last time before adopt(); CLOCK_BOOTTIME ns, which goes on
  // while the host sleeps. 0: never.
  std::uint64_t last_alive_ns() const { return last_alive_ns_; }
  Result<void> note_alive() const;

  // By circuit: the cookie of its socket at the server's end (SO_COOKIE), which no other socket
  // gets.
  const kernel::MapView<std::uint64_t, std::uint64_t>& cookies() const { return cookies_; }

 private:
  explicit CaPins(std::string directory, UniqueFd lock)
      : directory_(std::move(directory)), lock_(std::move(lock)) {}
  std::string path(const std::string& name) const { return directory_ + "/" + name; }
  Result<std::optional<UniqueFd>> get(const std::string& name) const;
  std::optional<std::string> mismatch(const bpf_map* map, int pinned) const;
  Result<void> read_state();
  Result<void> make_own_maps(std::uint32_t max_circuits);
  Result<void> unpin_all() const;

  std::string directory_;
  UniqueFd lock_;
  bool adopted_ = false;
  std::string why_anew_;
  std::uint64_t last_alive_ns_ = 0;
  UniqueFd state_fd_, cookies_fd_;
  kernel::MapView<std::uint64_t, std::uint64_t> cookies_;
};

}  // namespace ioc_exporter::ca
