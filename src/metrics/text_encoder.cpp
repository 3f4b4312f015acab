#include "metrics/text_encoder.h"

#include <utility>

#include "metrics/label_text.h"
#include "metrics/number_text.h"

namespace ioc_exporter::metrics {
namespace {

std::string_view type_name(FamilyType type) {
  switch (type) {
    case FamilyType::counter:
      return "counter";
    case FamilyType::gauge:
      return "gauge";
    case FamilyType::histogram:
      return "histogram";
    case FamilyType::untyped:
      break;
  }
  return "untyped";
}

std::string le_label(double upper_bound) {
  std::string text = "le=\"";
  append_number(text, upper_bound);
  text += "\"} ";
  return text;
}

constexpr std::string_view kInfinity = "le=\"+Inf\"} ";

}  // namespace

// name="value",name="value" without braces
EncodedLabels TextEncoder::labels(std::span<const Label> labels) const {
  EncodedLabels encoded;
  for (const Label& label : labels) {
    if (!encoded.bytes.empty()) encoded.bytes += ',';
    encoded.bytes += label.name;
    encoded.bytes += "=\"";
    append_label_value(encoded.bytes, label.value);
    encoded.bytes += '"';
  }
  return encoded;
}

void TextEncoder::begin_family(const Family& family) {
  family_ = family;
  header_written_ = false;
}

void TextEncoder::begin_histograms(const Family& family, const HistogramEdges& edges) {
  begin_family(family);
  bucket_start_ = std::string(family.name) + "_bucket{";
  edges_.clear();
  for (const int k : edges.ks())
    edges_.push_back({edges.scale().slot(k), le_label(edge_seconds(k))});
}

void TextEncoder::write_header() {
  if (header_written_) return;
  header_written_ = true;
  text_ += "# HELP ";
  text_ += family_.name;
  text_ += ' ';
  append_help(text_, family_.help);
  text_ += "\n# TYPE ";
  text_ += family_.name;
  text_ += ' ';
  text_ += type_name(family_.type);
  text_ += '\n';
}

void TextEncoder::write_series(std::string_view suffix, const EncodedLabels& labels,
                               const EncodedLabels& more) {
  text_ += family_.name;
  text_ += suffix;
  if (!labels.bytes.empty() || !more.bytes.empty()) {
    text_ += '{';
    text_ += labels.bytes;
    if (!labels.bytes.empty() && !more.bytes.empty()) text_ += ',';
    text_ += more.bytes;
    text_ += '}';
  }
  text_ += ' ';
}

void TextEncoder::count(const EncodedLabels& labels, const EncodedLabels& more,
                        std::uint64_t value) {
  write_header();
  write_series({}, labels, more);
  append_number(text_, value);
  text_ += '\n';
}

void TextEncoder::number(const EncodedLabels& labels, const EncodedLabels& more, double value) {
  write_header();
  write_series({}, labels, more);
  append_number(text_, value);
  text_ += '\n';
}

void TextEncoder::write_bucket(const EncodedLabels& labels, std::string_view end_of_labels,
                               std::uint64_t cumulative) {
  text_ += bucket_start_;
  text_ += labels.bytes;
  if (!labels.bytes.empty()) text_ += ',';
  text_ += end_of_labels;
  append_number(text_, cumulative);
  text_ += '\n';
}

void TextEncoder::histogram(const EncodedLabels& labels, std::span<const std::uint64_t> buckets,
                            double sum_seconds) {
  write_header();
  std::uint64_t cumulative = 0;
  std::size_t slot = 0;
  for (const Edge& edge : edges_) {
    for (; slot <= edge.slot; ++slot) cumulative += buckets[slot];
    write_bucket(labels, edge.end_of_labels, cumulative);
  }
  for (; slot < buckets.size(); ++slot) cumulative += buckets[slot];
  write_bucket(labels, kInfinity, cumulative);
  write_series("_sum", labels, {});
  append_number(text_, sum_seconds);
  text_ += '\n';
  write_series("_count", labels, {});
  append_number(text_, cumulative);
  text_ += '\n';
}

std::string TextEncoder::take() {
  return std::exchange(text_, {});
}

}  // namespace ioc_exporter::metrics
