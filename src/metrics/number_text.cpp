#include "metrics/number_text.h"

#include <charconv>
#include <cmath>

namespace ioc_exporter::metrics {
namespace {

// 32 characters hold every uint64 (20) and every shortest double (24).
template <class Number>
void append_chars(std::string& out, Number value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  out.append(text, end);
}

}  // namespace

void append_number(std::string& out, std::uint64_t value) {
  append_chars(out, value);
}

void append_number(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "NaN";
  } else if (std::isinf(value)) {
    out += value > 0 ? "+Inf" : "-Inf";
  } else {
    append_chars(out, value);
  }
}

double seconds_from_ns(std::uint64_t ns) {
  return static_cast<double>(ns) / 1e9;
}

}  // namespace ioc_exporter::metrics
