// Status codes of Channel Access in words.
#pragma once

#include <cstdint>
#include <string_view>

namespace ioc_exporter::ca {

// The reason behind a status (ECA_ code, from ERROR or the answer to a WRITE_NOTIFY) for a label:
// the text of caerr.h's name in words, such as "no_write_access" for ECA_NOWTACCESS. The severity
// in its low bits does not matter. What caerr.h of Base 7.0.10 does not have is "other".
std::string_view ca_status_reason(std::uint32_t status);

}  // namespace ioc_exporter::ca
