// The formats of a scrape, and which of them a client wants.
#pragma once

#include <memory>
#include <string_view>

#include "exposition/encoder.h"

namespace ioc_exporter::web {

enum class ScrapeFormat { text, openmetrics, protobuf };

// Format with the highest q-value in an Accept header, the first of equals. Text 0.0.4 when there
// is no header, or no known format in it.
ScrapeFormat best_format(std::string_view accept);

std::unique_ptr<exposition::Encoder> make_encoder(ScrapeFormat format);

}  // namespace ioc_exporter::web
