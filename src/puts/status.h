// Status codes of Channel Access in words.
#pragma once

#include <cstdint>
#include <string_view>

#include "shared/server_probe.h"

namespace ioc_exporter::puts {

// The reason behind a status (ECA_ code, from ERROR or the answer to a WRITE_NOTIFY) for a label:
// the text of caerr.h's name in words, such as "no_write_access" for ECA_NOWTACCESS. The severity
// in its low bits does not matter. What caerr.h of Base 7.0.10 does not have is "other".
std::string_view ca_status_reason(std::uint32_t status);

// Statuses by enum iocx_put_failure, without their severity.
constexpr std::uint32_t kPutFailureStatuses[] = {
#define IOCX_PUT_FAILURE_ROW(NAME, NUMBER) NUMBER << 3,
    IOCX_PUT_FAILURE_LIST(IOCX_PUT_FAILURE_ROW)
#undef IOCX_PUT_FAILURE_ROW
};

}  // namespace ioc_exporter::puts
