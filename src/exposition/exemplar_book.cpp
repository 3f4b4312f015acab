#include "exposition/exemplar_book.h"

#include <algorithm>

namespace ioc_exporter::exposition {
namespace {

EncodedLabels encoded_pairs(const Encoder& encoder,
                            const std::vector<std::pair<std::string, std::string>>& pairs) {
  std::vector<Label> labels;
  labels.reserve(pairs.size());
  for (const auto& [name, value] : pairs) labels.push_back({name, value});
  return encoder.labels(labels);
}

}  // namespace

void ExemplarBook::note(const Note& note) {
  if (note.series.empty()) return;
  const auto pairs_of = [](const std::vector<Label>& labels) {
    Pairs pairs;
    for (const Label& label : labels) pairs.emplace_back(label.name, label.value);
    return pairs;
  };
  const std::scoped_lock lock(mutex_);
  auto& of_ioc = kept_[{note.family, std::string(note.series.front().value)}];
  of_ioc[pairs_of(note.series)] = {pairs_of(note.labels), note.value, note.time_seconds, ++noted_};
  if (of_ioc.size() <= kMostOfIoc) return;
  of_ioc.erase(
      std::ranges::min_element(of_ioc, {}, [](const auto& one) { return one.second.number; }));
}

void ExemplarBook::keep(const std::unordered_set<std::string>& iocs) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(kept_, [&iocs](const auto& one) { return !iocs.contains(one.first.ioc); });
}

ExemplarTable ExemplarBook::encoded(const Encoder& encoder) const {
  ExemplarTable table;
  const std::scoped_lock lock(mutex_);
  for (const auto& [place, series] : kept_)
    for (const auto& [labels, kept] : series)
      table[place.family].insert_or_assign(
          encoded_pairs(encoder, labels).bytes,
          Exemplar{encoded_pairs(encoder, kept.labels), kept.value, kept.time_seconds});
  return table;
}

}  // namespace ioc_exporter::exposition
