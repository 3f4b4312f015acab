#include "web/scraper.h"

#include <chrono>
#include <memory>
#include <optional>

#include "exposition/openmetrics_encoder.h"
#include "exposition/protobuf_encoder.h"
#include "exposition/text_encoder.h"
#include "web/compression.h"

namespace ioc_exporter::web {
namespace {

// A server that scrapes has seen a series by then: its first increase is not lost any more.
constexpr std::chrono::hours kCreatedIsTold{1};

// Whether a parameter is missing, or one of the values that go with the format.
bool is_or_missing(std::string_view parameters, std::string_view name, std::string_view value) {
  const auto given = parameter(parameters, name);
  return !given || equal_ignoring_case(*given, value);
}

std::optional<ScrapeFormat> format_of(std::string_view type, std::string_view parameters) {
  const auto is = [type](std::string_view other) { return equal_ignoring_case(type, other); };
  if (is("application/vnd.google.protobuf") && parameter(parameters, "proto") &&
      is_or_missing(parameters, "proto", "io.prometheus.client.MetricFamily") &&
      is_or_missing(parameters, "encoding", "delimited"))
    return ScrapeFormat::protobuf;
  if (is("application/openmetrics-text") && is_or_missing(parameters, "version", "1.0.0"))
    return ScrapeFormat::openmetrics;
  if (is("text/plain") && is_or_missing(parameters, "version", "0.0.4")) return ScrapeFormat::text;
  if (is("text/*") || is("*/*")) return ScrapeFormat::text;
  return {};
}

}  // namespace

ScrapeFormat best_format(std::string_view accept) {
  ScrapeFormat best = ScrapeFormat::text;
  double most = 0;
  while (!accept.empty()) {
    std::string_view parameters = web::next_part(accept, ',');
    const std::string_view type = web::next_part(parameters, ';');
    const double q = quality(parameters);
    const auto format = format_of(type, parameters);
    if (!format || q <= most) continue;
    best = *format;
    most = q;
  }
  return best;
}

std::unique_ptr<exposition::Encoder> make_encoder(ScrapeFormat format) {
  switch (format) {
    case ScrapeFormat::openmetrics:
      return std::make_unique<exposition::OpenMetricsEncoder>(
          std::chrono::duration<double>(
              (std::chrono::system_clock::now() - kCreatedIsTold).time_since_epoch())
              .count());
    case ScrapeFormat::protobuf:
      return std::make_unique<exposition::ProtobufEncoder>();
    case ScrapeFormat::text:
      break;
  }
  return std::make_unique<exposition::TextEncoder>();
}

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
