// What the fuzz targets have in common.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <utility>

namespace fuzz {

using Bytes = std::span<const std::uint8_t>;

inline void check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: %s\n", what);
  std::abort();
}

inline std::uint32_t word(Bytes bytes, std::size_t at) {
  return std::uint32_t{bytes[at]} << 24 | std::uint32_t{bytes[at + 1]} << 16 |
         std::uint32_t{bytes[at + 2]} << 8 | bytes[at + 3];
}

// In memory of its own size, so that a read behind it is seen.
inline std::unique_ptr<std::uint8_t[]> copy_of(Bytes bytes) {
  auto copy = std::make_unique<std::uint8_t[]>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), copy.get());
  return copy;
}

// Events of a CaStream or PvaStream that gets `bytes` in pieces, which `seed` cuts; 0: in one. With
// `gaps`, some of the pieces are missing.
template <class Parser>
auto read_in_pieces(Parser stream, Bytes bytes, std::uint32_t seed, bool gaps = false) {
  const auto parser = std::make_unique<Parser>(std::move(stream));
  decltype(parser->feed(bytes)) events;
  while (!bytes.empty()) {
    std::size_t size = bytes.size();
    if (seed != 0) {
      seed = seed * 1664525u + 1013904223u;
      // Many short ones: cuts inside of headers and names are where mistakes are.
      const std::size_t longest = seed >> 30 == 0 ? 3000 : 40;
      size = std::min<std::size_t>(size, 1 + (seed >> 8) % longest);
    }
    const bool missing = gaps && seed >> 28 == 7;
    const auto copy = copy_of(bytes.first(size));
    for (auto& event :
         missing ? parser->gap(static_cast<std::uint32_t>(size)) : parser->feed({copy.get(), size}))
      events.push_back(std::move(event));
    bytes = bytes.subspan(size);
  }
  return events;
}

}  // namespace fuzz
