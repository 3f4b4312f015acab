// Families as rows of a table: the name of a family, and the series that one sample adds to it. One
// function encodes a table over all samples.
//
//   constexpr FamilyRow<Thing> kFamilies[] = {
//       {gauge("things_up", "Whether it runs."),
//        [](const Thing& thing, Series& to) { to.add(thing.up); }},
//       {gauge("things_records", "Records by type."),
//        [](const Thing& thing, Series& to) { to.add({{"type", "ai"}}, thing.ai_records); }},
//   };
#pragma once

#include <initializer_list>
#include <iterator>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "exposition/encoder.h"
#include "exposition/shared_families.h"

namespace ioc_exporter::exposition {

constexpr Family counter(std::string_view name, std::string_view help) {
  return {name, FamilyType::counter, help};
}
constexpr Family gauge(std::string_view name, std::string_view help) {
  return {name, FamilyType::gauge, help};
}
constexpr Family histogram(std::string_view name, std::string_view help) {
  return {name, FamilyType::histogram, help};
}

// `value` where `known`, else nothing: a series that is absent.
template <class Value>
constexpr std::optional<Value> when(bool known, Value value) {
  return known ? std::optional<Value>(value) : std::nullopt;
}

// The series that samples add to families.
class Series {
 public:
  // At once. No two samples have the same labels.
  explicit Series(Encoder& encoder) : encoder_(encoder), direct_(&encoder) {}
  // Later: samples with the same labels are merged, and series sorted.
  Series(const Encoder& encoder, SharedFamilies& merged) : encoder_(encoder), merged_(&merged) {}

  const Encoder& encoder() const { return encoder_; }

  // `edges`: for a family of histograms.
  void begin(const Family& family, const HistogramEdges* edges);
  // Labels of the sample, which come before those of the series.
  void set_labels(LabelView labels) { labels_ = labels; }

  // A number, a CountedSeries, or a std::optional of them: nothing adds no series.
  // `created_seconds`: when a counter was 0; 0: not known.
  template <class Value>
  void add(std::initializer_list<Label> more, Value value, double created_seconds = 0) {
    if constexpr (requires { value.has_value(); }) {
      if (value) add(more, *std::move(value), created_seconds);
    } else if constexpr (std::is_floating_point_v<Value>) {
      add_number(more, value, created_seconds);
    } else if constexpr (std::is_integral_v<Value>) {
      add_count(more, {static_cast<std::uint64_t>(value), created_seconds});
    } else {
      add_count(more, std::move(value));
    }
  }
  template <class Value>
  void add(Value value) {
    add({}, std::move(value));
  }
  void add_histogram(std::initializer_list<Label> more, std::span<const std::uint64_t> buckets,
                     std::uint64_t sum_ns);

 private:
  void add_number(std::initializer_list<Label> more, double value, double created_seconds);
  void add_count(std::initializer_list<Label> more, CountedSeries series);
  EncodedLabels all_labels(std::initializer_list<Label> more) const;

  const Encoder& encoder_;
  Encoder* direct_ = nullptr;
  SharedFamilies* merged_ = nullptr;
  LabelView labels_;
};

template <class Sample>
struct FamilyRow {
  Family family;
  void (*add)(const Sample& sample, Series& to);
};

// `samples`: a range of samples, or of pointers to them. labels_of(sample): of all its series.
template <class Rows, class Samples, class LabelsOf>
void add_families(const Rows& rows, const Samples& samples, LabelsOf labels_of, Series& to,
                  const HistogramEdges* edges = nullptr) {
  const auto sample_of = [](const auto& one) -> const auto& {
    if constexpr (std::is_pointer_v<std::remove_cvref_t<decltype(one)>>)
      return *one;
    else
      return one;
  };
  std::vector<EncodedLabels> labels;
  labels.reserve(std::size(samples));
  for (const auto& one : samples) labels.push_back(to.encoder().labels(labels_of(sample_of(one))));
  for (const auto& row : rows) {
    to.begin(row.family, edges);
    auto own = labels.begin();
    for (const auto& one : samples) {
      to.set_labels(*own++);
      row.add(sample_of(one), to);
    }
  }
}

// The same, merged and sorted, to the page at once.
template <class Rows, class Samples, class LabelsOf>
void encode_merged(const Rows& rows, const Samples& samples, LabelsOf labels_of, Encoder& encoder,
                   const HistogramEdges* edges = nullptr) {
  SharedFamilies merged;
  Series to(encoder, merged);
  add_families(rows, samples, labels_of, to, edges);
  merged.encode(encoder);
}

}  // namespace ioc_exporter::exposition
