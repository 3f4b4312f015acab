#include "web/compression.h"

#include <libdeflate.h>
#include <zstd.h>

#include <algorithm>
#include <charconv>
#include <memory>

#include "base/ascii.h"

namespace ioc_exporter::web {
namespace {

// Quality of one coding in the header; nothing: it is not named.
using Wish = std::optional<double>;

struct Wishes {
  Wish gzip, zstd, identity, any;

  void note(std::string_view coding, double q) {
    if (equal_ignoring_case(coding, "gzip") || equal_ignoring_case(coding, "x-gzip"))
      gzip = std::max(gzip.value_or(0), q);
    else if (equal_ignoring_case(coding, "zstd"))
      zstd = q;
    else if (equal_ignoring_case(coding, "identity"))
      identity = q;
    else if (coding == "*")
      any = q;
  }
};

std::optional<ByteBuffer> gzip(std::string_view body) {
  constexpr int kFastest = 1;
  const std::unique_ptr<libdeflate_compressor, decltype(&libdeflate_free_compressor)> compressor(
      libdeflate_alloc_compressor(kFastest), &libdeflate_free_compressor);
  if (!compressor) return {};
  ByteBuffer packed;
  const std::size_t room = libdeflate_gzip_compress_bound(compressor.get(), body.size());
  char* at = packed.room(room);
  const std::size_t size =
      libdeflate_gzip_compress(compressor.get(), body.data(), body.size(), at, room);
  if (size == 0) return {};
  packed.set_end(at + size);
  return packed;
}

std::optional<ByteBuffer> zstd(std::string_view body) {
  constexpr int kFastest = 1;
  ByteBuffer packed;
  const std::size_t room = ZSTD_compressBound(body.size());
  char* at = packed.room(room);
  const std::size_t size = ZSTD_compress(at, room, body.data(), body.size(), kFastest);
  if (ZSTD_isError(size)) return {};
  packed.set_end(at + size);
  return packed;
}

}  // namespace

std::string_view coding_name(Coding coding) {
  switch (coding) {
    case Coding::gzip:
      return "gzip";
    case Coding::zstd:
      return "zstd";
    case Coding::identity:
      break;
  }
  return "";
}

Coding best_coding(std::string_view accept_encoding) {
  Wishes wishes;
  while (!accept_encoding.empty()) {
    std::string_view parameters = next_part(accept_encoding, ',');
    const std::string_view coding = next_part(parameters, ';');
    wishes.note(coding, quality(parameters));
  }
  const double gzip = wishes.gzip.value_or(wishes.any.value_or(0));
  const double zstd = wishes.zstd.value_or(0);  // "*" comes from clients that do not know zstd
  const double identity = wishes.identity.value_or(0);
  if (zstd > 0 && zstd >= gzip && zstd >= identity) return Coding::zstd;
  if (gzip > 0 && gzip >= identity) return Coding::gzip;
  return Coding::identity;
}

std::optional<ByteBuffer> compress(std::string_view body, Coding coding) {
  std::optional<ByteBuffer> packed;
  if (coding == Coding::gzip) packed = gzip(body);
  if (coding == Coding::zstd) packed = zstd(body);
  if (packed) packed->shrink_to_fit();
  return packed;
}

std::string_view next_part(std::string_view& list, char separator) {
  std::size_t end = 0;
  for (bool quoted = false; end < list.size() && (quoted || list[end] != separator); ++end)
    if (list[end] == '"') quoted = !quoted;
  const std::string_view part = list.substr(0, end);
  list.remove_prefix(std::min(end + 1, list.size()));
  return trimmed(part);
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

std::optional<std::string_view> parameter(std::string_view parameters, std::string_view name) {
  while (!parameters.empty()) {
    std::string_view value = next_part(parameters, ';');
    if (!equal_ignoring_case(next_part(value, '='), name)) continue;
    value = trimmed(value);
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
      value = value.substr(1, value.size() - 2);
    return value;
  }
  return {};
}

double quality(std::string_view parameters) {
  const auto text = parameter(parameters, "q");
  if (!text) return 1;
  double q = 0;
  const auto [end, failure] = std::from_chars(text->data(), text->data() + text->size(), q);
  const bool number = failure == std::errc() && end == text->data() + text->size();
  return number && q >= 0 ? std::min(q, 1.0) : 0;  // NaN is not above 0
}

}  // namespace ioc_exporter::web
