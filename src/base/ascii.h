// Letters of ASCII, whatever the locale.
#pragma once

namespace ioc_exporter {

constexpr char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

}  // namespace ioc_exporter
