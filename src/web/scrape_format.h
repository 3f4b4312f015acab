// The formats of a scrape, and which of them a client wants.
#pragma once

#include <memory>
#include <string_view>

#include "exposition/encoder.h"

namespace ioc_exporter::web {

enum class ScrapeFormat { text, openmetrics, protobuf };

// What an Accept header wants most, by its q-values; of those that it wants alike, what it names
// first. Text 0.0.4 when there is no header, or nothing in it that we have.
ScrapeFormat best_format(std::string_view accept);

std::unique_ptr<exposition::Encoder> make_encoder(ScrapeFormat format);

}  // namespace ioc_exporter::web
