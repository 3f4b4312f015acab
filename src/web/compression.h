// Compressed bodies, when the client asks for them (RFC 9110, 12.5.3): gzip (RFC 1952) and zstd
// (RFC 8878).
#pragma once

#include <optional>
#include <string_view>

#include "base/byte_buffer.h"

namespace ioc_exporter::web {

enum class Coding { identity, gzip, zstd };

// As it stands in Content-Encoding; "" for identity.
std::string_view coding_name(Coding coding);

// The coding that an Accept-Encoding header wants most, by its q-values; of those that it wants
// alike, the one that costs least. identity: no header, nothing that is known, or all refused.
Coding best_coding(std::string_view accept_encoding);

// `body` in that coding, at its fastest level; nothing for identity, or when there was no memory.
std::optional<ByteBuffer> compress(std::string_view body, Coding coding);

// Cuts the part before the next `separator` off `list`, and gives it trimmed. Separators within
// quotes are none.
std::string_view next_part(std::string_view& list, char separator);

bool equal_ignoring_case(std::string_view a, std::string_view b);

// The value of a parameter in "name=value;name=value", without its quotes; nothing: it is not
// there.
std::optional<std::string_view> parameter(std::string_view parameters, std::string_view name);

// The q among `parameters`, 0 to 1: 1 when there is none, 0 when it is no number.
double quality(std::string_view parameters);

}  // namespace ioc_exporter::web
