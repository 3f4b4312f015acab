// Facts of a CA server's channels: client, name, rights. For puts/inventory/server_reader.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "iocs/memory/memory.h"
#include "puts/inventory/rsrv_layout.h"
#include "puts/inventory/server_walk.h"
#include "puts/totals/samples.h"

namespace ioc_exporter::puts {

// Name of a channel of Base 3.14, from its dbAddr.

// dbNameToAddr() in 3.14's dbAccess.c: "$" makes an array of characters of a string or a link.
// `described`: the field's type as its description has it; the others are the dbAddr's.
inline bool is_long_string(std::int32_t described, std::int32_t field_type,
                           std::int32_t dbr_field_type) {
  if (described == layout::kDbfString) return field_type == layout::kDbfChar;
  const bool is_link = described >= layout::kDbfInLink3_14 && described <= layout::kDbfFwdLink3_14;
  return is_link && dbr_field_type == layout::kOldDbrChar;
}

// "" for a field: its name is not known.
inline std::string channel_name(std::string record, const std::string& field, bool long_string) {
  if (!field.empty() && (field != "VAL" || long_string)) record += "." + field;
  return long_string ? record + "$" : record;
}

struct ChannelFacts {
  ChannelEntry entry;
  std::uint64_t client = 0;  // struct client
  std::uint32_t cid = 0;
  std::uint32_t monitors = 0;
  std::string name;  // "": could not be read, or is no text
  ServerSample::Access access = ServerSample::unknown;
};

// How a channel leads to its record: see puts/inventory/rsrv_layout.h.
enum class ChannelLayout { by_db_channel, by_db_addr };

// Which of them makes sense of these channels; nothing when none does.
std::optional<ChannelLayout> layout_of(iocs::Memory& memory,
                                       std::span<const ChannelEntry> channels);

// In the order of `channels`; those that are being freed meanwhile come without name.
std::vector<ChannelFacts> read_channel_facts(iocs::Memory& memory, ChannelLayout layout,
                                             std::span<const ChannelEntry> channels);

}  // namespace ioc_exporter::puts
