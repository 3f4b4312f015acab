// Which listeners speak Channel Access, from what the tap saw of their connections. Pure: no system
// calls.
//
// A connection that was followed from its first byte tells by the first message of either end,
// which is CA's VERSION. One that was open before tells when the boundaries of messages were found
// in both directions, or when they were not in data that came after kLooks looks. One connection
// that speaks Channel Access is enough, whatever others to the same port do.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "ca/server.h"

namespace ioc_exporter::ca {

struct CaVerdict {
  CaServer server;
  bool speaks_ca = false;
};

class CaCandidates {
 public:
  static constexpr int kLooks = 2;

  // One look at all connections of candidates: begin_look(), see() for each, end_look().
  void begin_look();
  // `server`: as it was named, by which the connection was found. `waits`: it may be passed on to
  // another server; where it speaks Channel Access, nothing is said of this one yet.
  void see(const iocx_ca_server& server, const iocx_ca_flow& flow, bool waits = false);
  void end_look();

  // What the looks since the last call have shown.
  std::vector<CaVerdict> take();

 private:
  struct Joined {
    std::array<std::uint32_t, 2> next{};  // sequence numbers at the last look
    int looks = 0;                        // that found new data and no boundaries
    bool seen = false;
  };
  std::optional<bool> judge(const iocx_ca_flow& flow);
  std::optional<bool> judge_joined(const iocx_ca_flow& flow);

  std::map<std::uint64_t, Joined> joined_;  // by circuit
  std::map<iocx_ca_server, bool, CaKeyLess> verdicts_;
  std::set<iocx_ca_server, CaKeyLess> waiting_;  // at this look
};

}  // namespace ioc_exporter::ca
