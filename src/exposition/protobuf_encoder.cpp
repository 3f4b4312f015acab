#include "exposition/protobuf_encoder.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <protozero/varint.hpp>
#include <string_view>
#include <utility>

#include "exposition/label_text.h"
#include "exposition/protobuf_buffer.h"

namespace ioc_exporter::exposition {
namespace {

std::size_t varint_size(std::uint64_t value) {
  return static_cast<std::size_t>(protozero::length_of_varint(value));
}

// ProtobufPen: writes the fields of a message of known length, one after the other, into a buffer
// that has room for them. Protozero's writers leave room for the length and move the fields.
class ProtobufPen {
 public:
  enum WireType { kVarint = 0, kFixed64 = 1, kLength = 2 };
  static constexpr std::size_t kTag = 1;  // bytes; of the fields up to 15, and there are no others
  static constexpr std::size_t kDouble = kTag + 8;
  static constexpr std::size_t kMostVarint = 10;

  explicit ProtobufPen(char* at) : at_(at) {}
  char* end() const { return at_; }

  void varint(std::uint64_t value) { at_ += protozero::write_varint(at_, value); }
  void bytes(std::string_view bytes) {
    if (bytes.empty()) return;
    std::memcpy(at_, bytes.data(), bytes.size());
    at_ += bytes.size();
  }
  void field_varint(int field, std::uint64_t value) {
    tag(field, kVarint);
    varint(value);
  }
  void field_double(int field, double value) {
    tag(field, kFixed64);
    auto bits = std::bit_cast<std::uint64_t>(value);
    for (int i = 0; i < 8; ++i, bits >>= 8) *at_++ = static_cast<char>(bits);
  }
  // The field's bytes are to follow.
  void field_length(int field, std::size_t length) {
    tag(field, kLength);
    varint(length);
  }

 private:
  void tag(int field, WireType type) { *at_++ = static_cast<char>(field << 3 | type); }

  char* at_;
};

// Size of a field of so many bytes, with its tag and length.
std::size_t length_field_size(std::size_t bytes) {
  return ProtobufPen::kTag + varint_size(bytes) + bytes;
}

// Field numbers and enum values of metrics.proto.
enum MetricFamilyField { kFamilyName = 1, kFamilyHelp = 2, kFamilyType = 3, kFamilyMetric = 4 };
enum MetricField { kLabel = 1, kGauge = 2, kCounter = 3, kUntyped = 5, kHistogram = 7 };
enum LabelPairField { kLabelName = 1, kLabelValue = 2 };
enum ValueField {  // of Gauge, Counter and Untyped
  kValue = 1,
  kCounterCreated = 3
};
enum TimestampField { kTimestampSeconds = 1, kTimestampNanos = 2 };
enum HistogramField {
  kSampleCount = 1,
  kSampleSum = 2,
  kSchema = 5,
  kZeroThreshold = 6,
  kZeroCount = 7,
  kPositiveSpan = 12,
  kPositiveDelta = 13
};
enum BucketSpanField { kSpanOffset = 1, kSpanLength = 2 };

constexpr std::int32_t kQuarters = 2;  // the schema: bounds are 2^(k/4)
// Its bucket above the largest double (prometheus/prometheus, model/histogram, getBound): 2^1024
// stands for that double, k = 4096.
constexpr std::int32_t kOverflowK = 4 * 1024 + 1;
constexpr std::int32_t kWorthASpan = 3;  // so many empty buckets cost more than another span

void clear(ByteBuffer& buffer) {
  buffer.set_end(buffer.data());
}

std::int32_t type_number(FamilyType type) {
  switch (type) {
    case FamilyType::counter:
      return 0;
    case FamilyType::gauge:
      return 1;
    case FamilyType::histogram:
      return 4;
    case FamilyType::untyped:
      break;
  }
  return 3;
}

std::int32_t value_field(FamilyType type) {
  if (type == FamilyType::counter) return kCounter;
  return type == FamilyType::gauge ? kGauge : kUntyped;
}

// Not known (0): no field.
void write_time(ProtobufWriter& parent, std::int32_t field, double time_seconds) {
  if (time_seconds <= 0) return;
  ProtobufWriter time(parent, static_cast<protozero::pbf_tag_type>(field));
  const double seconds = std::floor(time_seconds);
  time.add_int64(kTimestampSeconds, static_cast<std::int64_t>(seconds));
  time.add_int32(kTimestampNanos, static_cast<std::int32_t>((time_seconds - seconds) * 1e9));
}

}  // namespace

// Fields of a Metric, to be copied into it.
EncodedLabels ProtobufEncoder::labels(std::span<const Label> labels) const {
  ByteBuffer encoded;
  ProtobufWriter metric(encoded);
  for (const Label& label : labels) {
    const std::string value = utf8_safe(label.value);
    ProtobufWriter pair(metric, kLabel);
    pair.add_string(kLabelName, label.name.data(), label.name.size());
    pair.add_string(kLabelValue, value);
  }
  return {std::string(encoded.view())};
}

void ProtobufEncoder::begin_family(const Family& family) {
  end_family();
  family_ = family;
}

void ProtobufEncoder::begin_histograms(const Family& family, const HistogramEdges& edges) {
  begin_family(family);
  scale_ = edges.scale();
}

void ProtobufEncoder::write_header() {
  if (header_written_) return;
  header_written_ = true;
  begin_ = bytes_.size();
  ProtobufWriter family(bytes_);
  family.add_string(kFamilyName, family_.name.data(), family_.name.size());
  family.add_string(kFamilyHelp, utf8_safe(family_.help));
  family.add_enum(kFamilyType, type_number(family_.type));
}

// Only now its length is known, which stands before it.
void ProtobufEncoder::end_family() {
  if (!std::exchange(header_written_, false)) return;
  ByteBuffer length;
  protozero::add_varint_to_buffer(&length, bytes_.size() - begin_);
  bytes_.insert(begin_, length.view());
}

// A missing value is read as 0.
void ProtobufEncoder::number(LabelView labels, LabelView more, double value, double created) {
  write_header();
  if (created > 0 && family_.type == FamilyType::counter)
    return write_created(labels, more, value, created);
  const std::size_t value_size =
      std::bit_cast<std::uint64_t>(value) == 0 ? 0 : ProtobufPen::kDouble;
  const std::size_t size = labels.bytes.size() + more.bytes.size() + length_field_size(value_size);
  ProtobufPen pen(bytes_.room(length_field_size(size)));
  pen.field_length(kFamilyMetric, size);
  pen.bytes(labels.bytes);
  pen.bytes(more.bytes);
  pen.field_length(value_field(family_.type), value_size);
  if (value_size > 0) pen.field_double(kValue, value);
  bytes_.set_end(pen.end());
}

void ProtobufEncoder::write_created(LabelView labels, LabelView more, double value,
                                    double created) {
  ProtobufWriter family(bytes_);
  ProtobufWriter metric(family, kFamilyMetric);
  bytes_.append(labels.bytes);
  bytes_.append(more.bytes);
  ProtobufWriter counter(metric, kCounter);
  counter.add_double(kValue, value);
  write_time(counter, kCounterCreated, created);
}

void ProtobufEncoder::count(LabelView labels, LabelView more, std::uint64_t value, double created) {
  number(labels, more, static_cast<double>(value), created);
}

void ProtobufEncoder::add_delta(std::uint64_t count) {
  const auto delta = static_cast<std::int64_t>(count - std::exchange(last_count_, count));
  ProtobufPen pen(deltas_.room(ProtobufPen::kMostVarint));
  pen.varint(protozero::encode_zigzag64(delta));
  deltas_.set_end(pen.end());
}

void ProtobufEncoder::add_bucket(std::int32_t k, std::uint64_t count) {
  const std::int32_t gap = k - next_k_;
  if (spans_.empty() || gap >= kWorthASpan) {
    spans_.push_back({gap, 0});
  } else {
    for (std::int32_t i = 0; i < gap; ++i) add_delta(0);
    spans_.back().length += static_cast<std::uint32_t>(gap);
  }
  ++spans_.back().length;
  add_delta(count);
  next_k_ = k + 1;
}

void ProtobufEncoder::find_spans(std::span<const std::uint64_t> buckets) {
  spans_.clear();
  clear(deltas_);
  next_k_ = 0;
  last_count_ = 0;
  const std::size_t overflow = buckets.size() - 1;
  for (std::size_t slot = 1; slot < overflow; ++slot)
    if (buckets[slot] > 0)
      add_bucket(scale_.first_k + static_cast<std::int32_t>(slot), buckets[slot]);
  if (buckets[overflow] > 0) add_bucket(kOverflowK, buckets[overflow]);
}

// The fields of a Histogram. What is 0 need not be there, but for the threshold of the zero bucket:
// it says that the histogram is a native one.
void ProtobufEncoder::make_histogram(std::span<const std::uint64_t> buckets, double sum_seconds) {
  constexpr std::size_t kMostSpan = 32, kMostFixed = 128;
  find_spans(buckets);
  const std::uint64_t count = std::accumulate(buckets.begin(), buckets.end(), std::uint64_t{0});
  clear(histogram_);
  ProtobufPen pen(histogram_.room(kMostFixed + spans_.size() * kMostSpan + deltas_.size()));
  if (count > 0) pen.field_varint(kSampleCount, count);
  if (sum_seconds != 0) pen.field_double(kSampleSum, sum_seconds);
  pen.field_varint(kSchema, protozero::encode_zigzag32(kQuarters));
  pen.field_double(kZeroThreshold, edge_seconds(scale_.first_k));
  if (buckets.front() > 0) pen.field_varint(kZeroCount, buckets.front());
  for (const Span& span : spans_) {
    const std::uint32_t offset = protozero::encode_zigzag32(span.offset);
    pen.field_length(kPositiveSpan,
                     2 * ProtobufPen::kTag + varint_size(offset) + varint_size(span.length));
    pen.field_varint(kSpanOffset, offset);
    pen.field_varint(kSpanLength, span.length);
  }
  if (!deltas_.empty()) {
    pen.field_length(kPositiveDelta, deltas_.size());
    pen.bytes(deltas_.view());
  }
  histogram_.set_end(pen.end());
}

void ProtobufEncoder::histogram(LabelView labels, std::span<const std::uint64_t> buckets,
                                double sum_seconds) {
  write_header();
  make_histogram(buckets, sum_seconds);
  const std::size_t size = labels.bytes.size() + length_field_size(histogram_.size());
  ProtobufPen pen(bytes_.room(length_field_size(size)));
  pen.field_length(kFamilyMetric, size);
  pen.bytes(labels.bytes);
  pen.field_length(kHistogram, histogram_.size());
  pen.bytes(histogram_.view());
  bytes_.set_end(pen.end());
}

ByteBuffer ProtobufEncoder::finish() {
  end_family();
  return std::exchange(bytes_, {});
}

}  // namespace ioc_exporter::exposition
