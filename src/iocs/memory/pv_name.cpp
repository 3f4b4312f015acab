#include "iocs/memory/pv_name.h"

#include <algorithm>

namespace ioc_exporter::iocs {
namespace {

bool is_field_character(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

}  // namespace

PvName parse_pv_name(std::string_view pv) {
  const std::size_t dot = std::min(pv.find('.'), pv.size());
  std::string_view field = pv.substr(std::min(dot + 1, pv.size()));
  const auto end = std::find_if_not(field.begin(), field.end(), is_field_character);
  const auto length = static_cast<std::size_t>(end - field.begin());
  const std::string_view rest = field.substr(length);
  field = field.substr(0, length);
  return {pv.substr(0, dot), field.empty() ? "VAL" : field, rest};
}

}  // namespace ioc_exporter::iocs
