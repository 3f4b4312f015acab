#include "exposition/text_encoder.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "exposition/label_text.h"
#include "exposition/number_text.h"

namespace ioc_exporter::exposition {
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

char* write(char* at, std::string_view text) {
  if (!text.empty()) std::memcpy(at, text.data(), text.size());  // it may be at nullptr
  return at + text.size();
}

constexpr std::size_t kPunctuation = 8;  // of a line: braces, comma, space, end

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

void TextEncoder::append_header(std::string& header, const Family& family) const {
  header.append("# HELP ").append(family.name) += ' ';
  append_help(header, family.help);
  header.append("\n# TYPE ").append(family.name) += ' ';
  header.append(type_name(family.type)) += '\n';
}

std::string TextEncoder::edge_text(double upper_bound) const {
  std::string text;
  append_number(text, upper_bound);
  return text;
}

void TextEncoder::begin_family(const Family& family) {
  family_ = family;
  header_written_ = false;
}

void TextEncoder::begin_histograms(const Family& family, const HistogramEdges& edges) {
  begin_family(family);
  const std::string name(family.name);
  bucket_start_ = name + "_bucket{";
  sum_start_ = name + "_sum";
  count_start_ = name + "_count";
  edges_.clear();
  infinity_.set("le=\"+Inf\"} ");
  longest_edge_ = infinity_.size();
  for (const int k : edges.ks()) {
    Edge& edge = edges_.emplace_back(Edge{edges.scale().slot(k), {}});
    edge.end_of_labels.set("le=\"" + edge_text(edge_seconds(k)) + "\"} ");
    longest_edge_ = std::max(longest_edge_, edge.end_of_labels.size());
  }
}

void TextEncoder::write_header() {
  if (header_written_) return;
  header_written_ = true;
  header_.clear();
  append_header(header_, family_);
  text_.append(header_);
}

// start{labels,more} value
template <class Number>
char* TextEncoder::write_line(char* at, std::string_view start, LabelView labels, LabelView more,
                              Number value) const {
  at = write(at, start);
  if (!labels.bytes.empty() || !more.bytes.empty()) {
    *at++ = '{';
    at = write(at, labels.bytes);
    if (!labels.bytes.empty() && !more.bytes.empty()) *at++ = ',';
    at = write(at, more.bytes);
    *at++ = '}';
  }
  *at++ = ' ';
  at = write_number(at, value);
  *at++ = '\n';
  return at;
}

template <class Number>
void TextEncoder::write_sample(LabelView labels, LabelView more, Number value) {
  write_header();
  char* at = text_.room(family_.name.size() + labels.bytes.size() + more.bytes.size() +
                        kNumberRoom + kPunctuation);
  text_.set_end(write_line(at, family_.name, labels, more, value));
}

void TextEncoder::count(LabelView labels, LabelView more, std::uint64_t value, double) {
  write_sample(labels, more, value);
}

void TextEncoder::number(LabelView labels, LabelView more, double value, double) {
  write_sample(labels, more, value);
}

// Nearly all of a scrape is written here. All lines of the buckets begin alike, and the count of
// one is often that of the one before it.
void TextEncoder::histogram(LabelView labels, std::span<const std::uint64_t> buckets,
                            double sum_seconds) {
  write_header();
  line_start_.set(bucket_start_, labels.bytes, labels.bytes.empty() ? "" : ",");
  const std::size_t line = line_start_.size() + longest_edge_ + kNumberRoom + kPunctuation;
  char* at = text_.room(line * (edges_.size() + 3) + PaddedText::kStep);

  std::uint64_t cumulative = 0;
  PaddedNumber number(cumulative);
  std::size_t slot = 0;
  const auto write_bucket = [&](const PaddedText& end_of_labels) {
    at = line_start_.write(at);
    at = end_of_labels.write(at);
    at = number.write(at, cumulative);
    *at++ = '\n';
  };
  for (const Edge& edge : edges_) {
    for (; slot <= edge.slot; ++slot) cumulative += buckets[slot];
    write_bucket(edge.end_of_labels);
  }
  for (; slot < buckets.size(); ++slot) cumulative += buckets[slot];
  write_bucket(infinity_);
  at = write_line(at, sum_start_, labels, {}, sum_seconds);
  at = write_line(at, count_start_, labels, {}, cumulative);
  text_.set_end(at);
}

ByteBuffer TextEncoder::finish() {
  return std::exchange(text_, {});
}

}  // namespace ioc_exporter::exposition
