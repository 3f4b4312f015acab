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

void OpenMetricsEncoder::append_created(LabelView labels, LabelView more, double created) {
  if (created <= created_after_ || !family().name.ends_with(kTotal)) return;
  std::string line(family_name(family()));
  line.append("_created{").append(labels.bytes);
  if (!labels.bytes.empty() && !more.bytes.empty()) line += ',';
  line.append(more.bytes).append("} ");
  text().append(line.append(time_text(created)) += '\n');
}

void OpenMetricsEncoder::count(LabelView labels, LabelView more, std::uint64_t value,
                               double created) {
  TextEncoder::count(labels, more, value, created);
  append_created(labels, more, created);
}

void OpenMetricsEncoder::number(LabelView labels, LabelView more, double value, double created) {
  TextEncoder::number(labels, more, value, created);
  append_created(labels, more, created);
}

ByteBuffer OpenMetricsEncoder::finish() {
  ByteBuffer all = TextEncoder::finish();
  all.append("# EOF\n");
  return all;
}

}  // namespace ioc_exporter::exposition
