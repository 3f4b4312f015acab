#include "exposition/openmetrics_encoder.h"

#include <cmath>
#include <cstdio>

#include "exposition/label_text.h"
#include "exposition/number_text.h"

namespace ioc_exporter::exposition {
namespace {

constexpr std::string_view kTotal = "_total";

// A counter whose name does not end in _total cannot be one here.
std::string_view type_name(const Family& family) {
  switch (family.type) {
    case FamilyType::counter:
      return family.name.ends_with(kTotal) ? "counter" : "unknown";
    case FamilyType::gauge:
      return "gauge";
    case FamilyType::histogram:
      return "histogram";
    case FamilyType::untyped:
      break;
  }
  return "unknown";
}

std::string_view family_name(const Family& family) {
  std::string_view name = family.name;
  if (family.type == FamilyType::counter && name.ends_with(kTotal))
    name.remove_suffix(kTotal.size());
  return name;
}

// To the microsecond: a double has no more for a time of day.
std::string time_text(double seconds) {
  char text[40];
  const int length =
      std::snprintf(text, sizeof text, "%lld.%06lld", static_cast<long long>(std::floor(seconds)),
                    static_cast<long long>((seconds - std::floor(seconds)) * 1e6));
  return {text, static_cast<std::size_t>(length)};
}

std::string exemplar_text(const Exemplar& exemplar) {
  std::string text(" # {");
  text.append(exemplar.labels.bytes).append("} ");
  append_number(text, exemplar.value);
  if (exemplar.time_seconds > 0) text.append(" ").append(time_text(exemplar.time_seconds));
  return text;
}

}  // namespace

void OpenMetricsEncoder::append_header(std::string& header, const Family& family) const {
  const std::string_view name = family_name(family);
  header.append("# TYPE ").append(name) += ' ';
  header.append(type_name(family)).append("\n# HELP ").append(name) += ' ';
  append_label_value(header, family.help);
  header += '\n';
}

std::string OpenMetricsEncoder::edge_text(double upper_bound) const {
  std::string text;
  append_number(text, upper_bound);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

void OpenMetricsEncoder::begin_family(const Family& family) {
  TextEncoder::begin_family(family);
  exemplars_ = exemplars_of(family.name);
}

// At the end of the counter's line.
void OpenMetricsEncoder::append_facts(LabelView labels, const CounterFacts& facts) {
  if (const Exemplar* const exemplar = exemplar_of(exemplars_, labels))
    text().insert(text().size() - 1, exemplar_text(*exemplar));
  if (facts.created_seconds <= created_after_ || !family().name.ends_with(kTotal)) return;
  std::string line(family_name(family()));
  line.append("_created{").append(labels.bytes).append("} ");
  text().append(line.append(time_text(facts.created_seconds)) += '\n');
}

// At the end of the line of the bucket that counted it.
void OpenMetricsEncoder::histogram(LabelView labels, std::span<const std::uint64_t> buckets,
                                   double sum_seconds) {
  const std::size_t begin = text().size();
  TextEncoder::histogram(labels, buckets, sum_seconds);
  const Exemplar* const exemplar = exemplar_of(exemplars_, labels);
  if (exemplar == nullptr) return;
  std::size_t line = text().view().find("_bucket{", begin);
  for (std::size_t i = bucket_of(exemplar->value); i > 0; --i)
    line = text().view().find('\n', line) + 1;
  text().insert(text().view().find('\n', line), exemplar_text(*exemplar));
}

void OpenMetricsEncoder::count(LabelView labels, std::uint64_t value, const CounterFacts& facts) {
  count(labels, {}, value);
  append_facts(labels, facts);
}

void OpenMetricsEncoder::number(LabelView labels, double value, const CounterFacts& facts) {
  number(labels, {}, value);
  append_facts(labels, facts);
}

ByteBuffer OpenMetricsEncoder::finish() {
  ByteBuffer all = TextEncoder::finish();
  all.append("# EOF\n");
  return all;
}

}  // namespace ioc_exporter::exposition
