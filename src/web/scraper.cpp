#include "web/scraper.h"

#include <memory>

namespace ioc_exporter::web {
namespace {

// Which server asks, as far as its requests tell. Servers behind one address may be told apart by
// parameters that the site gives them in the scrape's URL.
exposition::Reader reader_of(const Request& request) {
  exposition::Reader reader{request.remote, !request.scrape_timeout.empty()};
  for (const std::string* part : {&request.forwarded_for, &request.user_agent,
                                  &request.scrape_timeout, &request.query, &request.accept})
    reader.identity += '\n' + *part;
  return reader;
}

}  // namespace

Scraper::Body Scraper::encode(ScrapeFormat format) const {
  const auto encoder = make_encoder(format);
  WhenServed when_served = encode_(*encoder);
  return {encoder->finish(), std::string(encoder->content_type()), std::move(when_served)};
}

Scraper::Body Scraper::make(const Form& form) const {
  Body body = encode(form.first);
  if (auto packed = compress(body.bytes.view(), form.second)) {
    body.bytes = std::move(*packed);
    body.coding = form.second;
  } else {
    body.bytes.shrink_to_fit();
  }
  return body;
}

std::string Scraper::text() {
  return std::string(encode(ScrapeFormat::text).bytes.view());
}

Response Scraper::answer(const Request& request) {
  const Form form{best_format(request.accept), best_coding(request.accept_encoding)};
  const auto body = work_.get(form, [&] { return make(form); });
  if (request.method == "GET")
    for (const auto& tell : body->when_served) tell(reader_of(request));
  Response response;
  response.content_type = body->content_type;
  response.shared_body = {body, &body->bytes};
  response.content_encoding = coding_name(body->coding);
  response.vary = "Accept, Accept-Encoding";
  return response;
}

}  // namespace ioc_exporter::web
