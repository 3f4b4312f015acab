// ProtobufEncoder: io.prometheus.client.MetricFamily, each after its length as a varint, with
// native histograms.
//
// A histogram is the kernel's, in schema 2: slot i is bucket k = first_k + i. The first edge is the
// threshold of the zero bucket, the last bucket has no upper bound. No classic buckets.
//
// Source: prometheus/client_model, io/prometheus/client/metrics.proto (0.3.0);
// prometheus/client_golang, prometheus/histogram.go (makeBuckets).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "exposition/encoder.h"

namespace ioc_exporter::exposition {

class ProtobufEncoder final : public Encoder {
 public:
  static constexpr std::string_view kContentType =
      "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; "
      "encoding=delimited";

  std::string_view content_type() const override { return kContentType; }
  LabelForm label_form() const override { return LabelForm::protobuf; }
  using Encoder::labels;
  EncodedLabels labels(std::span<const Label> labels) const override;
  void begin_family(const Family& family) override;
  void begin_histograms(const Family& family, const HistogramEdges& edges) override;
  using Encoder::count;
  void count(LabelView labels, LabelView more, std::uint64_t value, double created) override;
  using Encoder::number;
  void number(LabelView labels, LabelView more, double value, double created) override;
  void histogram(LabelView labels, std::span<const std::uint64_t> buckets,
                 double sum_seconds) override;
  void reserve(std::size_t bytes) override { bytes_.reserve(bytes / 4); }
  ByteBuffer finish() override;

 private:
  struct Span {
    std::int32_t offset;
    std::uint32_t length;
  };

  void write_header();
  void end_family();
  void write_created(LabelView labels, LabelView more, double value, double created);
  void find_spans(std::span<const std::uint64_t> buckets);
  void add_bucket(std::int32_t k, std::uint64_t count);
  void add_delta(std::uint64_t count);
  void make_histogram(std::span<const std::uint64_t> buckets, double sum_seconds);

  ByteBuffer bytes_;
  Family family_{};
  bool header_written_ = false;
  std::size_t begin_ = 0;  // of the family, in bytes_
  HistogramScale scale_ = kProcessScale;
  // Of the histogram that is being written, which they all begin anew.
  ByteBuffer histogram_;
  std::vector<Span> spans_;
  ByteBuffer deltas_;        // as they are written
  std::int32_t next_k_ = 0;  // after the last bucket
  std::uint64_t last_count_ = 0;
};

}  // namespace ioc_exporter::exposition
