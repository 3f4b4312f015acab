// The parts of reading a CA server's tables: its hash of channels, its list of clients. For
// puts/inventory/server_reader.cpp.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "iocs/memory/memory.h"
#include "puts/inventory/rsrv_layout.h"

namespace ioc_exporter::puts {

struct ChannelEntry {
  std::uint64_t address = 0;  // struct channel_in_use
  std::uint32_t sid = 0;

  auto operator<=>(const ChannelEntry&) const = default;
};

struct ChannelHash {
  std::vector<ChannelEntry> entries;  // sorted, each once
  std::uint64_t in_use = 0;           // how many the server says there are
  std::string torn;                   // first inconsistency; "" = none
};

// All channels of the hash at `bucket`. A chain that does not hold together ends where it breaks:
// the IOC may be at work on it.
Result<ChannelHash> read_channel_hash(iocs::Memory& memory, std::uint64_t bucket);

// bucketUnsignedHash() of bucketLib.c.
std::uint32_t bucket_of_sid(std::uint32_t sid, const layout::Bucket& bucket);

struct ClientNode {
  std::uint64_t address = 0;
  layout::RsrvClient raw{};
};
// The clients in the list at `client_queue` (an ELLLIST), which must hold together.
Result<std::vector<ClientNode>> read_client_queue(iocs::Memory& memory, std::uint64_t client_queue);

// Whether the client has turned its monitors off for now (EVENTS_OFF); nothing where this Base's
// struct is not known.
std::optional<bool> read_flow_control(iocs::Memory& memory, const ClientNode& client);

// Text that ends in a zero byte, cut to `most` - 1 bytes. Clients choose it: it may hold any
// others.
Result<std::string> read_text(iocs::Memory& memory, std::uint64_t address, std::size_t most);

}  // namespace ioc_exporter::puts
