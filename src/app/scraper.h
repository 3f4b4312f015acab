// Scraper: answers scrapes. What several ask for at the same time, in the same form, is made once:
// an answer may have been begun by another request, and is then as old as it takes to make one.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "app/scrape_format.h"
#include "web/compression.h"
#include "web/message.h"
#include "records/labels.h"
#include "app/render.h"
#include "base/samples.h"
#include "base/byte_buffer.h"
#include "base/shared_work.h"

namespace ioc_exporter::app {

class Scraper {
 public:
  // Told of each request that was answered, with the Snapshot::policy_look of what it got.
  using Served = std::function<void(const web::Request&, std::uint64_t policy_look)>;

  explicit Scraper(std::function<Snapshot()> take_snapshot, Served served = {},
                   ShownEdges edges = {})
      : take_snapshot_(std::move(take_snapshot)),
        served_(std::move(served)),
        edges_(std::move(edges)) {}

  // In any thread.
  web::Response answer(const web::Request& request);
  // One scrape in text format 0.0.4.
  std::string text();

 private:
  using Form = std::pair<ScrapeFormat, web::Coding>;
  struct Body {
    ByteBuffer bytes;
    std::string content_type;
    std::uint64_t policy_look = 0;
    web::Coding coding = web::Coding::identity;
  };

  Body encode(ScrapeFormat format);
  Body make(const Form& form);

  std::function<Snapshot()> take_snapshot_;
  Served served_;
  ShownEdges edges_;
  records::LabelCache labels_;
  SharedWork<Form, Body> work_;
};

}  // namespace ioc_exporter::app
