// Encoder: what every exposition format offers to the families, so that a format is chosen once a
// scrape.
//
// Use: labels() makes a series' label set in the format's own form, once; begin_family() and then
// count() or number() for each series, or begin_histograms() and histogram(); finish() at the end.
// All series of a family stand together, and no family comes twice: text 0.0.4 and OpenMetrics 1.0
// ask for it.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/byte_buffer.h"
#include "exposition/histogram_edges.h"

namespace ioc_exporter::exposition {

enum class FamilyType { counter, gauge, histogram, untyped };

// `name` as text 0.0.4 has it (a counter's ends in _total). The texts must live until the family is
// done.
struct Family {
  std::string_view name;
  FamilyType type;
  std::string_view help;
};

struct Label {
  std::string_view name;   // a valid label name
  std::string_view value;  // any bytes
};

// Labels in an encoder's own form. Two of them, one after the other, are the labels of both.
struct EncodedLabels {
  std::string bytes;

  bool operator==(const EncodedLabels&) const = default;
  auto operator<=>(const EncodedLabels&) const = default;
};

// The same, kept elsewhere.
struct LabelView {
  std::string_view bytes;

  LabelView() = default;
  explicit LabelView(std::string_view encoded) : bytes(encoded) {}
  LabelView(const EncodedLabels& labels) : bytes(labels.bytes) {}
};

// The form in which an encoder writes labels: encoders of one form may share them.
enum class LabelForm { text, protobuf };

class Encoder {
 public:
  virtual ~Encoder() = default;

  // Of an HTTP answer with the result of finish().
  virtual std::string_view content_type() const = 0;

  virtual LabelForm label_form() const = 0;
  virtual EncodedLabels labels(std::span<const Label> labels) const = 0;
  EncodedLabels labels(std::initializer_list<Label> list) const {
    return labels(std::span<const Label>(list.begin(), list.size()));
  }

  // A family without series leaves no trace.
  virtual void begin_family(const Family& family) = 0;
  // The same for a family of histograms. `edges`, which is not kept: their scale, and
  // which of its edges the formats without native histograms show.
  virtual void begin_histograms(const Family& family, const HistogramEdges& edges) = 0;

  // One series of a counter, gauge or untyped family. `more` is appended to `labels`. `created`:
  // when a counter was 0, in seconds since 1970; 0: not known. OpenMetrics shows it as _created,
  // protobuf as created_timestamp: a server that takes it as a zero sees the first increase, too.
  virtual void count(LabelView labels, LabelView more, std::uint64_t value, double created) = 0;
  virtual void number(LabelView labels, LabelView more, double value, double created) = 0;
  void count(LabelView labels, LabelView more, std::uint64_t value) {
    count(labels, more, value, 0);
  }
  void count(LabelView labels, std::uint64_t value) { count(labels, {}, value, 0); }
  void number(LabelView labels, double value) { number(labels, {}, value, 0); }

  // One series of a histogram family. `buckets` are not cumulative, one for each slot of the scale;
  // its count is their sum.
  virtual void histogram(LabelView labels, std::span<const std::uint64_t> buckets,
                         double sum_seconds) = 0;

  // Room for about so many bytes of text more, so that the buffer need not grow.
  virtual void reserve(std::size_t bytes) = 0;
  // The encoded text; the encoder is empty afterwards.
  virtual ByteBuffer finish() = 0;
  // The same, as a string.
  std::string take() { return std::string(finish().view()); }

 protected:
  Encoder() = default;
  Encoder(const Encoder&) = default;
  Encoder(Encoder&&) = default;
  Encoder& operator=(const Encoder&) = default;
  Encoder& operator=(Encoder&&) = default;
};

}  // namespace ioc_exporter::exposition
