// The query of a URL, "name=value&name=value" (WHATWG URL, application/x-www-form-urlencoded).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ioc_exporter {

// The first value of that name, decoded; any bytes may be in it. A '%' that no two hex digits
// follow stands for itself. Nothing when the name is not there.
std::optional<std::string> query_value(std::string_view query, std::string_view name);

// `text` with every byte but letters, digits and "-._~" as %NN.
std::string percent_encoded(std::string_view text);

}  // namespace ioc_exporter
