// Lists of wishes with q-values in HTTP headers, as in "a;q=0.5, b" (RFC 9110, 12.4.2 and 5.6.1).
#pragma once

#include <optional>
#include <string_view>

namespace ioc_exporter::web {

// Cuts the part before the next `separator` off `rest`, and gives it trimmed. Separators within
// quotes are none.
std::string_view next_part(std::string_view& rest, char separator);

bool equal_ignoring_case(std::string_view a, std::string_view b);

// The value of a parameter in "name=value;name=value", without its quotes; nothing: it is not
// there.
std::optional<std::string_view> parameter(std::string_view parameters, std::string_view name);

// The q among `parameters`, 0 to 1: 1 when there is none, 0 when it is no number.
double quality(std::string_view parameters);

}  // namespace ioc_exporter::web
