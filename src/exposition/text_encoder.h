// TextEncoder: the Prometheus text format 0.0.4, into one buffer.
//
// Source: https://prometheus.io/docs/instrumenting/exposition_formats/
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "exposition/encoder.h"
#include "exposition/number_text.h"

namespace ioc_exporter::exposition {

// Texts that are written again and again, in steps of so many bytes at once: no call and no choice
// by length, as memcpy(3) has for the same few bytes.
class PaddedText {
 public:
  static constexpr std::size_t kStep = 32;

  void set(std::string_view text, std::string_view more = {}, std::string_view end = {}) {
    bytes_.assign(text).append(more).append(end);
    size_ = bytes_.size();
    bytes_.resize(size_ + kStep);
  }
  std::size_t size() const { return size_; }

  // Returns the end. There is room for kStep more.
  char* write(char* to) const {
    for (std::size_t done = 0; done < size_; done += kStep)
      std::memcpy(to + done, bytes_.data() + done, kStep);
    return to + size_;
  }

 private:
  std::string bytes_;
  std::size_t size_ = 0;
};

// A number that is often the same as the one before.
class PaddedNumber {
 public:
  explicit PaddedNumber(std::uint64_t value) { set(value); }

  // Returns the end. There is room for kNumberRoom.
  char* write(char* to, std::uint64_t value) {
    if (value != value_) set(value);
    std::memcpy(to, text_, sizeof text_);
    return to + size_;
  }

 private:
  void set(std::uint64_t value) {
    value_ = value;
    size_ = static_cast<std::size_t>(write_number(text_, value) - text_);
  }

  std::uint64_t value_ = 0;
  std::size_t size_ = 0;
  char text_[kNumberRoom] = {};
};

class TextEncoder : public Encoder {
 public:
  static constexpr std::string_view kContentType = "text/plain; version=0.0.4; charset=utf-8";

  std::string_view content_type() const override { return kContentType; }
  LabelForm label_form() const override { return LabelForm::text; }
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
  void reserve(std::size_t bytes) override { text_.reserve(bytes); }
  ByteBuffer finish() override;

 protected:
  // Parts that other text formats write differently.
  virtual void append_header(std::string& header, const Family& family) const;
  virtual std::string edge_text(double upper_bound) const;

  ByteBuffer& text() { return text_; }
  const Family& family() const { return family_; }

 private:
  struct Edge {
    std::size_t slot;
    PaddedText end_of_labels;  // le="0.25"} and a space
  };

  void write_header();
  template <class Number>
  void write_sample(LabelView labels, LabelView more, Number value);
  template <class Number>
  char* write_line(char* at, std::string_view start, LabelView labels, LabelView more,
                   Number value) const;

  ByteBuffer text_;
  Family family_{};
  bool header_written_ = false;
  std::string header_;
  std::vector<Edge> edges_;  // of a family of histograms
  PaddedText infinity_;      // as an edge's end_of_labels
  std::size_t longest_edge_ = 0;
  std::string bucket_start_;  // its name_bucket{
  std::string sum_start_, count_start_;
  PaddedText line_start_;  // of all bucket lines of a histogram
};

}  // namespace ioc_exporter::exposition
