// base64 (RFC 4648), as basic authentication has it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ioc_exporter {

std::string encode_base64(std::string_view bytes);

// With or without padding; nothing when another character is in it.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace ioc_exporter
