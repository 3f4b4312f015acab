#include "exposition/number_text.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <string_view>

namespace ioc_exporter::exposition {
namespace {

char* write_text(char* to, std::string_view text) {
  std::memcpy(to, text.data(), text.size());
  return to + text.size();
}

template <class Number>
void append(std::string& out, Number value) {
  char text[kNumberRoom];
  out.append(text, write_number(text, value));
}

}  // namespace

char* write_number(char* to, std::uint64_t value) {
  return std::to_chars(to, to + kNumberRoom, value).ptr;
}

char* write_number(char* to, double value) {
  if (std::isnan(value)) return write_text(to, "NaN");
  if (std::isinf(value)) return write_text(to, value > 0 ? "+Inf" : "-Inf");
  return std::to_chars(to, to + kNumberRoom, value).ptr;
}

void append_number(std::string& out, std::uint64_t value) {
  append(out, value);
}

void append_number(std::string& out, double value) {
  append(out, value);
}

double seconds_from_ns(std::uint64_t ns) {
  return static_cast<double>(ns) / 1e9;
}

}  // namespace ioc_exporter::exposition
