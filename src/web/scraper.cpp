#include "web/scraper.h"

#include <memory>

namespace ioc_exporter::web {
Scraper::Body Scraper::encode(ScrapeFormat format) const {
  const auto encoder = make_encoder(format);
  encode_(*encoder);
  return {encoder->finish(), std::string(encoder->content_type())};
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
  Response response;
  response.content_type = body->content_type;
  response.shared_body = {body, &body->bytes};
  response.content_encoding = coding_name(body->coding);
  response.vary = "Accept, Accept-Encoding";
  return response;
}

}  // namespace ioc_exporter::web
