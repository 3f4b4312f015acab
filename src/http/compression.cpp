#include "http/compression.h"

#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <climits>

namespace ioc_exporter::http {
namespace {

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// Cuts the part before the next `separator` off `rest`.
std::string_view next_part(std::string_view& rest, char separator) {
  const auto end = std::min(rest.find(separator), rest.size());
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return trim(part);
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

// The q of what follows a coding's name: 1 when there is none.
double quality(std::string_view parameters) {
  while (!parameters.empty()) {
    std::string_view value = next_part(parameters, ';');
    if (!equal_ignoring_case(next_part(value, '='), "q")) continue;
    value = trim(value);
    double q = 0;
    const auto [end, failure] = std::from_chars(value.data(), value.data() + value.size(), q);
    return failure == std::errc() && end == value.data() + value.size() ? q : 0;
  }
  return 1;
}

}  // namespace

bool accepts_gzip(std::string_view accept_encoding) {
  std::optional<double> named, any;
  while (!accept_encoding.empty()) {
    std::string_view parameters = next_part(accept_encoding, ',');
    const std::string_view coding = next_part(parameters, ';');
    const double q = quality(parameters);
    if (equal_ignoring_case(coding, "gzip") || equal_ignoring_case(coding, "x-gzip")) {
      named = std::max(named.value_or(0), q);
    } else if (coding == "*") {
      any = q;
    }
  }
  return named.value_or(any.value_or(0)) > 0;
}

std::optional<std::string> gzip(std::string_view body) {
  constexpr int kGzipWindow = 15 + 16;  // the largest window, with gzip's header
  constexpr int kMemory = 8;            // zlib's default
  if (body.size() > UINT_MAX / 2) return {};
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzipWindow, kMemory, Z_DEFAULT_STRATEGY) !=
      Z_OK)
    return {};
  std::string packed(deflateBound(&stream, body.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(body.data()));
  stream.avail_in = static_cast<uInt>(body.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int state = deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  if (state != Z_STREAM_END) return {};
  return packed;
}

}  // namespace ioc_exporter::http
