#include "base/query.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

namespace ioc_exporter {
namespace {

std::string decoded(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned char byte = 0;
    const char* const at = text.data() + i;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(at + 1, at + 3, byte, 16).ptr == at + 3) {
      plain += static_cast<char>(byte);
      i += 2;
    } else {
      plain += text[i] == '+' ? ' ' : text[i];
    }
  }
  return plain;
}

bool stands_for_itself(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("-._~").find(c) != std::string_view::npos;
}

}  // namespace

std::optional<std::string> query_value(std::string_view query, std::string_view name) {
  for (std::size_t at = 0; at <= query.size();) {
    const std::size_t end = std::min(query.find('&', at), query.size());
    const std::string_view pair = query.substr(at, end - at);
    const std::size_t equals = std::min(pair.find('='), pair.size());
    if (!pair.empty() && decoded(pair.substr(0, equals)) == name)
      return decoded(pair.substr(std::min(equals + 1, pair.size())));
    at = end + 1;
  }
  return std::nullopt;
}

std::string percent_encoded(std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    char code[4] = {c};
    if (!stands_for_itself(c))
      std::snprintf(code, sizeof code, "%%%02X", unsigned{static_cast<unsigned char>(c)});
    encoded += code;
  }
  return encoded;
}

}  // namespace ioc_exporter
