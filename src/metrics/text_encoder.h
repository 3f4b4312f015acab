// TextEncoder: the Prometheus text format 0.0.4, into one buffer.
//
// Source: https://prometheus.io/docs/instrumenting/exposition_formats/
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "metrics/encoder.h"

namespace ioc_exporter::metrics {

class TextEncoder final : public Encoder {
 public:
  static constexpr std::string_view kContentType = "text/plain; version=0.0.4; charset=utf-8";

  // Room for a scrape of about that size, so that the buffer need not grow.
  void reserve(std::size_t bytes) { text_.reserve(bytes); }

  std::string_view content_type() const override { return kContentType; }
  using Encoder::labels;
  EncodedLabels labels(std::span<const Label> labels) const override;
  void begin_family(const Family& family) override;
  void begin_histograms(const Family& family, const HistogramEdges& edges) override;
  using Encoder::count;
  void count(const EncodedLabels& labels, const EncodedLabels& more, std::uint64_t value) override;
  using Encoder::number;
  void number(const EncodedLabels& labels, const EncodedLabels& more, double value) override;
  void histogram(const EncodedLabels& labels, std::span<const std::uint64_t> buckets,
                 double sum_seconds) override;
  std::string take() override;

 private:
  struct Edge {
    std::size_t slot;
    std::string end_of_labels;  // le="0.25"} and a space
  };

  void write_header();
  // name suffix {labels,more} and a space
  void write_series(std::string_view suffix, const EncodedLabels& labels,
                    const EncodedLabels& more);
  void write_bucket(const EncodedLabels& labels, std::string_view end_of_labels,
                    std::uint64_t cumulative);

  std::string text_;
  Family family_{};
  bool header_written_ = false;
  std::vector<Edge> edges_;   // of a family of histograms
  std::string bucket_start_;  // its name_bucket{
};

}  // namespace ioc_exporter::metrics
