// Seeder: enters circuits and channels that were open before the tap into the kernel's tables.
//
// The kernel goes on meanwhile: each step is one that it can lose or win. A channel is there when
// its SID is in ca_sids, and only the inserter of that key has made it.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "puts/tap/channels.h"
#include "puts/tap/circuits.h"
#include "puts/tap/tap_seed.h"

namespace ioc_exporter::ca {

class Seeder {
 public:
  // The others must outlive it.
  Seeder(const CaTapObject& object, Circuits& circuits, Channels& channels)
      : object_(object), circuits_(circuits), channels_(channels) {}

  // After a look at the channels.
  Result<CaSeedResult> seed(const CaSeed& seed);

 private:
  using Outcome = std::uint64_t CaSeedResult::*;  // number in which it counts

  Result<std::optional<std::uint64_t>> seed_circuit(std::uint32_t ioc, const CaSeedCircuit& circuit,
                                                    CaSeedResult& result);
  Result<std::optional<std::uint64_t>> add_circuit(std::uint32_t ioc, const CaSeedCircuit& circuit);
  Result<Outcome> seed_channel(const iocx_ca_channel_info& info, const CaSeedChannel& channel);
  Result<Outcome> add_channel(const iocx_ca_channel_info& info, const CaSeedChannel& channel);
  Result<Outcome> name_slot(std::uint32_t slot, const iocx_ca_channel_info& info,
                            const CaSeedChannel& channel);
  Result<void> name_info(std::uint32_t slot, iocx_ca_channel_info named);
  Result<void> note_cid(std::uint64_t circuit, const CaSeedChannel& channel, std::uint64_t id,
                        std::uint32_t slot);
  std::uint64_t new_id() { return IOCX_CA_USER_IDS | ++last_id_; }

  const CaTapObject& object_;
  Circuits& circuits_;
  Channels& channels_;
  std::uint64_t last_id_ = 0;
};

}  // namespace ioc_exporter::ca
