// Scraper: answers scrapes. What several ask for at the same time, in the same form, is made once:
// an answer may have been begun by another request, and is then as old as it takes to make one.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "app/scrape_format.h"
#include "http/compression.h"
#include "http/message.h"
#include "metrics/record_labels.h"
#include "metrics/render.h"
#include "probes/samples.h"
#include "util/byte_buffer.h"
#include "util/shared_work.h"

namespace ioc_exporter::app {

class Scraper {
 public:
  // Told of each request that was answered, with the Snapshot::policy_look of what it got.
  using Served = std::function<void(const http::Request&, std::uint64_t policy_look)>;

  explicit Scraper(std::function<Snapshot()> take_snapshot, Served served = {},
                   metrics::ShownEdges edges = {})
      : take_snapshot_(std::move(take_snapshot)),
        served_(std::move(served)),
        edges_(std::move(edges)) {}

  // In any thread.
  http::Response answer(const http::Request& request);
  // One scrape in text format 0.0.4.
  std::string text();

 private:
  using Form = std::pair<ScrapeFormat, http::Coding>;
  struct Body {
    ByteBuffer bytes;
    std::string content_type;
    std::uint64_t policy_look = 0;
    http::Coding coding = http::Coding::identity;
  };

  Body encode(ScrapeFormat format);
  Body make(const Form& form);

  std::function<Snapshot()> take_snapshot_;
  Served served_;
  metrics::ShownEdges edges_;
  metrics::LabelCache labels_;
  SharedWork<Form, Body> work_;
};

}  // namespace ioc_exporter::app
