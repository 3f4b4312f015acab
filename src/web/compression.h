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

}  // namespace ioc_exporter::web
