#include "app/scraper.h"

#include <memory>

#include "app/version.h"
#include "base/process_stats.h"

namespace ioc_exporter::app {

Scraper::Body Scraper::encode(ScrapeFormat format) {
  const Snapshot snapshot = take_snapshot_();
  ExporterInfo exporter;
  exporter.build = build_info();
  if (auto process = read_process_stats(RootedFs())) exporter.process = *process;
  const auto encoder = make_encoder(format);
  encode_snapshot(snapshot, exporter, edges_, labels_, *encoder);
  return {encoder->finish(), std::string(encoder->content_type()), snapshot.policy_look};
}

// The samples are gone when it is compressed: they need as much memory as the body.
Scraper::Body Scraper::make(const Form& form) {
  Body body = encode(form.first);
  if (auto packed = web::compress(body.bytes.view(), form.second)) {
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

web::Response Scraper::answer(const web::Request& request) {
  const Form form{best_format(request.accept), web::best_coding(request.accept_encoding)};
  const auto body = work_.get(form, [&] { return make(form); });
  if (served_) served_(request, body->policy_look);
  web::Response response;
  response.content_type = body->content_type;
  response.shared_body = {body, &body->bytes};
  response.content_encoding = web::coding_name(body->coding);
  response.vary = "Accept, Accept-Encoding";
  return response;
}

}  // namespace ioc_exporter::app
