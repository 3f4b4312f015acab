// gzip for bodies, when the client asks for it (RFC 9110, 12.5.3).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ioc_exporter::http {

// Whether an Accept-Encoding header allows gzip: named with a q above 0, or covered by "*". Without
// a header, or with a q that is no number, it does not.
bool accepts_gzip(std::string_view accept_encoding);

// `body` as a gzip member, at zlib's fastest level; nothing when there was no memory for it.
std::optional<std::string> gzip(std::string_view body);

}  // namespace ioc_exporter::http
