// Scraper: answers scrapes. What several ask for at the same time, in the same form, is made once:
// an answer may have been begun by another request, and is then as old as it takes to make one.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/byte_buffer.h"
#include "base/shared_work.h"
#include "exposition/encoder.h"
#include "web/compression.h"
#include "web/message.h"

namespace ioc_exporter::web {

enum class ScrapeFormat { text, openmetrics, protobuf };

// Format with the highest q-value in an Accept header, the first of equals. Text 0.0.4 when there
// is no header, or no known format in it.
ScrapeFormat best_format(std::string_view accept);

std::unique_ptr<exposition::Encoder> make_encoder(ScrapeFormat format);

class Scraper {
 public:
  // Encodes all families.
  using Encode = std::function<void(exposition::Encoder&)>;

  explicit Scraper(Encode encode) : encode_(std::move(encode)) {}

  // In any thread.
  Response answer(const Request& request);
  // One scrape in text format 0.0.4.
  std::string text();

 private:
  using Form = std::pair<ScrapeFormat, Coding>;
  struct Body {
    ByteBuffer bytes;
    std::string content_type;
    Coding coding = Coding::identity;
  };

  Body encode(ScrapeFormat format) const;
  Body make(const Form& form) const;

  Encode encode_;
  SharedWork<Form, Body> work_;
};

}  // namespace ioc_exporter::web
