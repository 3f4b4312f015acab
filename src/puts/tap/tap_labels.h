// The labels of a channel's puts, from what the kernel stored.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "puts/tap/connections.h"
#include "puts/totals/put_totals.h"
#include "shared/ca_tap.h"

namespace ioc_exporter::ca {

// A text of the kernel's: ends at its first zero byte.
template <std::size_t N>
std::string kernel_text(const char (&bytes)[N]) {
  return std::string(bytes, std::find(bytes, bytes + N, '\0'));
}

inline CaPutLabels labels_of(std::uint32_t ioc, const iocx_ca_channel_info& info) {
  return {ioc, kernel_text(info.name), ca_address_text(info.client),
          kernel_text(info.identity.user), kernel_text(info.identity.host)};
}

}  // namespace ioc_exporter::ca
