// Facts of a CA server's channels: client, name, rights. For puts/inventory/server_reader.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "iocs/memory/memory.h"
#include "puts/inventory/server_walk.h"
#include "puts/totals/samples.h"

namespace ioc_exporter::ca {

struct ChannelFacts {
  ChannelEntry entry;
  std::uint64_t client = 0;  // struct client
  std::uint32_t cid = 0;
  std::uint32_t monitors = 0;
  std::string name;  // "": could not be read, or is no text
  CaServerSample::Access access = CaServerSample::unknown;
};

// How a channel leads to its record: see puts/inventory/rsrv_layout.h.
enum class ChannelLayout { by_db_channel, by_db_addr };

// Which of them makes sense of these channels; nothing when none does.
std::optional<ChannelLayout> layout_of(iocs::Memory& memory,
                                       std::span<const ChannelEntry> channels);

// In the order of `channels`; those that are being freed meanwhile come without name.
std::vector<ChannelFacts> read_channel_facts(iocs::Memory& memory, ChannelLayout layout,
                                             std::span<const ChannelEntry> channels);

}  // namespace ioc_exporter::ca
