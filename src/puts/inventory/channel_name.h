// Name of a channel of Base 3.14, from its dbAddr.
#pragma once

#include <cstdint>
#include <string>

#include "puts/inventory/rsrv_layout.h"

namespace ioc_exporter::ca {

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

}  // namespace ioc_exporter::ca
