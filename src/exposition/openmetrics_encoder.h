// OpenMetricsEncoder: the OpenMetrics text format 1.0.0.
//
// Differences from text 0.0.4: a counter's family has no _total, `untyped` is `unknown`, quotes
// are escaped in HELP, an edge that is a whole number has ".0", counters may have a _created line,
// and "# EOF" ends it.
//
// Source: OpenMetrics 1.0 (prometheus/OpenMetrics, specification/OpenMetrics.md)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "exposition/text_encoder.h"

namespace ioc_exporter::exposition {

class OpenMetricsEncoder final : public TextEncoder {
 public:
  static constexpr std::string_view kContentType =
      "application/openmetrics-text; version=1.0.0; charset=utf-8";

  // `created_after`: counters that were 0 before it, in seconds since 1970, have no _created line.
  explicit OpenMetricsEncoder(double created_after = 0) : created_after_(created_after) {}

  std::string_view content_type() const override { return kContentType; }
  using TextEncoder::count;
  void count(LabelView labels, LabelView more, std::uint64_t value, double created) override;
  using TextEncoder::number;
  void number(LabelView labels, LabelView more, double value, double created) override;
  ByteBuffer finish() override;

 protected:
  void append_header(std::string& header, const Family& family) const override;
  std::string edge_text(double upper_bound) const override;

 private:
  void append_created(LabelView labels, LabelView more, double created);

  double created_after_;
};

}  // namespace ioc_exporter::exposition
