// The encoder's output, read by the classes that protoc makes of Prometheus' own metrics.proto.
#include "exposition/protobuf_encoder.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/util/delimited_message_util.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "exposition/number_text.h"
#include "exposition/text_encoder.h"
#include "metrics.pb.h"
#include "support/snapshot.h"
#include "unit/app/sample_snapshot.h"
#include "unit/app/scrape_parser.h"

namespace ioc_exporter::exposition {
namespace {

using namespace app;

using io::prometheus::client::Histogram;
using io::prometheus::client::Metric;
using io::prometheus::client::MetricFamily;

std::vector<MetricFamily> decoded(const std::string& bytes) {
  std::vector<MetricFamily> families;
  google::protobuf::io::CodedInputStream input(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                               static_cast<int>(bytes.size()));
  for (bool clean_end = false; !clean_end;) {
    MetricFamily family;
    if (google::protobuf::util::ParseDelimitedFromCodedStream(&family, &input, &clean_end))
      families.push_back(family);
    else if (!clean_end) {
      ADD_FAILURE() << "broken after " << families.size() << " families";
      break;
    }
  }
  return families;
}

// Bucket by index k (upper bound 2^(k/4) s) to count, as the spans and deltas say.
std::map<int, std::int64_t> buckets_of(const Histogram& histogram) {
  std::map<int, std::int64_t> buckets;
  int k = 0, delta = 0;
  std::int64_t count = 0;
  for (const auto& span : histogram.positive_span()) {
    k += span.offset();
    for (std::uint32_t i = 0; i < span.length(); ++i, ++k) {
      count += histogram.positive_delta(delta++);
      if (count != 0) buckets[k] = count;
    }
  }
  EXPECT_EQ(delta, histogram.positive_delta_size());
  return buckets;
}

Histogram encoded(std::span<const std::uint64_t> buckets, const HistogramEdges& edges, double sum) {
  ProtobufEncoder encoder;
  encoder.begin_histograms({"x_seconds", FamilyType::histogram, "Duration."}, edges);
  encoder.histogram(encoder.labels({{"ioc", "i"}}), buckets, sum);
  const auto families = decoded(encoder.take());
  EXPECT_EQ(families.size(), 1u);
  return families.at(0).metric(0).histogram();
}

std::string text_of_number(double value) {
  std::string text;
  append_number(text, value);
  return text;
}

LabelMap labels_of(const Metric& metric) {
  LabelMap labels;
  for (const auto& label : metric.label()) labels[label.name()] = label.value();
  return labels;
}

TEST(ProtobufEncoder, CountersGaugesAndUntyped) {
  ProtobufEncoder encoder;
  encoder.begin_family({"x_total", FamilyType::counter, "What\n\"it\" is."});
  const EncodedLabels a = encoder.labels({{"ioc", "a\"b\\\n"}, {"record", "\xFF"}});
  encoder.count(a, 23);
  encoder.count(a, encoder.labels({{"reason", ""}}), 5);
  encoder.begin_family({"none", FamilyType::gauge, "Leaves no trace."});
  encoder.begin_family({"g", FamilyType::gauge, "G."});
  encoder.number({}, -0.5);
  encoder.begin_family({"u", FamilyType::untyped, ""});
  encoder.number({}, std::numeric_limits<double>::infinity());
  const auto families = decoded(encoder.take());
  ASSERT_EQ(families.size(), 3u);
  EXPECT_EQ(families[0].name(), "x_total");
  EXPECT_EQ(families[0].help(), "What\n\"it\" is.");
  EXPECT_EQ(families[0].type(), io::prometheus::client::COUNTER);
  ASSERT_EQ(families[0].metric_size(), 2);
  EXPECT_EQ(labels_of(families[0].metric(0)), (LabelMap{{"ioc", "a\"b\\\n"}, {"record", "\\xFF"}}));
  EXPECT_EQ(families[0].metric(0).counter().value(), 23);
  EXPECT_EQ(labels_of(families[0].metric(1)),
            (LabelMap{{"ioc", "a\"b\\\n"}, {"record", "\\xFF"}, {"reason", ""}}));
  EXPECT_EQ(families[1].type(), io::prometheus::client::GAUGE);
  EXPECT_EQ(families[1].metric(0).gauge().value(), -0.5);
  EXPECT_EQ(families[1].metric(0).label_size(), 0);
  EXPECT_EQ(families[2].type(), io::prometheus::client::UNTYPED);
  EXPECT_TRUE(std::isinf(families[2].metric(0).untyped().value()));
  EXPECT_EQ(encoder.take(), "");
}

// metrics.proto 0.4.0: Counter.created_timestamp is field 3. Debian 12's 0.3.0 does not know it.
TEST(ProtobufEncoder, TellsWhenACounterWasZero) {
  ProtobufEncoder encoder;
  encoder.begin_family({"x_total", FamilyType::counter, "X."});
  encoder.count({}, {}, 2, 1790000300.25);
  const auto family = decoded(encoder.take()).at(0);
  const auto& counter = family.metric(0).counter();
  const auto& more = counter.GetReflection()->GetUnknownFields(counter);
  ASSERT_EQ(more.field_count(), 1);
  EXPECT_EQ(more.field(0).number(), 3);
  EXPECT_EQ(more.field(0).length_delimited(),
            std::string("\x08\xac\xf9\xc4\xd5\x06\x10\x80\xe5\x9a\x77"));
}

// The default of every field that is left out is 0; what holds it is there.
TEST(ProtobufEncoder, ZerosAreLeftOut) {
  ProtobufEncoder encoder;
  encoder.begin_family({"x_total", FamilyType::counter, "X."});
  encoder.count({}, 0);
  encoder.count({}, {}, 0, 0);
  encoder.begin_family({"g", FamilyType::gauge, "G."});
  encoder.number({}, 0);
  encoder.number({}, -0.0);
  const auto families = decoded(encoder.take());
  ASSERT_EQ(families.size(), 2u);
  ASSERT_TRUE(families[0].metric(0).has_counter());
  EXPECT_FALSE(families[0].metric(0).counter().has_value());
  EXPECT_EQ(families[0].metric(0).counter().value(), 0);
  EXPECT_EQ(families[0].metric(1).counter().value(), 0);
  ASSERT_TRUE(families[1].metric(0).has_gauge());
  EXPECT_FALSE(families[1].metric(0).gauge().has_value());
  EXPECT_TRUE(std::signbit(families[1].metric(1).gauge().value()));
}

TEST(ProtobufEncoder, EverySlotIsItsOwnBucket) {
  std::array<std::uint64_t, kHistogramSlots> buckets{};
  for (std::size_t i = 0; i < buckets.size(); ++i) buckets[i] = (i * 7919) % 1009 + 1;
  const Histogram histogram = encoded(buckets, HistogramEdges(), 23.5);
  EXPECT_EQ(histogram.schema(), 2);
  EXPECT_EQ(histogram.zero_threshold(), edge_seconds(kHistogramFirstK));
  EXPECT_EQ(histogram.zero_count(), buckets[0]);
  EXPECT_EQ(histogram.sample_sum(), 23.5);
  EXPECT_EQ(histogram.bucket_size(), 0);
  std::uint64_t total = 0;
  for (const std::uint64_t bucket : buckets) total += bucket;
  EXPECT_EQ(histogram.sample_count(), total);
  std::map<int, std::int64_t> expected;
  for (int k = kHistogramFirstK + 1; k <= kHistogramLastK; ++k)
    expected[k] = static_cast<std::int64_t>(buckets[kProcessScale.slot(k)]);
  expected[4097] = static_cast<std::int64_t>(buckets.back());
  EXPECT_EQ(buckets_of(histogram), expected);
  EXPECT_EQ(histogram.positive_span_size(), 2);
}

TEST(ProtobufEncoder, EmptyBucketsAreLeftOutWhereThatIsShorter) {
  std::array<std::uint64_t, kPutHistogramSlots> buckets{};
  for (const int k : {-79, -76, -75, -70, 0, 3, 40})
    buckets[kPutScale.slot(k)] = static_cast<std::uint64_t>(1000 + k);
  const Histogram histogram = encoded(buckets, HistogramEdges::of_puts(), 1);
  EXPECT_EQ(buckets_of(histogram),
            (std::map<int, std::int64_t>{
                {-79, 921}, {-76, 924}, {-75, 925}, {-70, 930}, {0, 1000}, {3, 1003}, {40, 1040}}));
  EXPECT_EQ(histogram.positive_span_size(), 4);
  EXPECT_EQ(histogram.zero_threshold(), edge_seconds(kPutHistogramFirstK));
}

TEST(ProtobufEncoder, NothingCountedIsStillANativeHistogram) {
  const std::array<std::uint64_t, kHistogramSlots> buckets{};
  const Histogram histogram = encoded(buckets, HistogramEdges(), 0);
  EXPECT_EQ(histogram.sample_count(), 0u);
  EXPECT_EQ(histogram.sample_sum(), 0);
  EXPECT_EQ(histogram.zero_count(), 0u);
  EXPECT_GT(histogram.zero_threshold(), 0);
  EXPECT_EQ(histogram.positive_span_size(), 0);
}

// Values of a metric by the names and labels that the text format has for them. The counts up to an
// edge are those of all buckets below it.
void add_values(const MetricFamily& family, const Metric& metric, const std::set<double>& edges,
                std::map<std::pair<std::string, LabelMap>, double>& to) {
  const LabelMap labels = labels_of(metric);
  if (!metric.has_histogram()) {
    to[{family.name(), labels}] = metric.has_counter() ? metric.counter().value()
                                  : metric.has_gauge() ? metric.gauge().value()
                                                       : metric.untyped().value();
    return;
  }
  const Histogram& histogram = metric.histogram();
  to[{family.name() + "_sum", labels}] = histogram.sample_sum();
  to[{family.name() + "_count", labels}] = static_cast<double>(histogram.sample_count());
  const auto buckets = buckets_of(histogram);
  for (const double edge : edges) {
    double below =
        edge >= histogram.zero_threshold() ? static_cast<double>(histogram.zero_count()) : 0;
    for (const auto& [k, count] : buckets)
      if (std::exp2(k / 4.0) <= edge) below += static_cast<double>(count);
    LabelMap with_edge = labels;
    with_edge["le"] = edge < HUGE_VAL ? text_of_number(edge) : "+Inf";
    to[{family.name() + "_bucket", with_edge}] = below;
  }
}

// The same series with the same values as in the text format.
TEST(ProtobufEncoder, AScrapeSaysWhatTheTextSays) {
  ProtobufEncoder encoder;
  records::LabelCache cache;
  const Snapshot snapshot = sample_snapshot();
  encode_snapshot(snapshot, sample_exporter(), {}, cache, encoder);
  const auto text = parse_scrape(render_text(snapshot, sample_exporter()));
  std::size_t families = 0;
  for (const MetricFamily& family : decoded(encoder.take())) {
    ++families;
    ASSERT_TRUE(text.contains(family.name())) << family.name();
    std::map<std::pair<std::string, LabelMap>, double> expected, values;
    std::set<double> edges;
    for (const auto& [key, value] : text.at(family.name()).series) {
      expected[key] = std::stod(value);
      if (const auto le = key.second.find("le"); le != key.second.end())
        edges.insert(std::stod(le->second));
    }
    for (const Metric& metric : family.metric()) add_values(family, metric, edges, values);
    EXPECT_EQ(values, expected) << family.name();
  }
  EXPECT_EQ(families, text.size());
}

}  // namespace
}  // namespace ioc_exporter::exposition
