#include "functions/series.h"

#include <algorithm>
#include <cstring>

namespace ioc_exporter::functions {
namespace {

std::string label_text(const Value& value, const iocx_function_key& key, std::uint32_t word) {
  if (value.type != Type::text)
    return value.number_text(static_cast<std::int64_t>(key.words[word]));
  const auto* const text = reinterpret_cast<const char*>(&key.words[word]);
  return {text, ::strnlen(text, value.size)};
}

std::uint32_t words_of(const Value& value) {
  return value.from_symbol() ? 0 : value.type == Type::text ? (value.size + 7) / 8 : 1;
}

bool has_read_labels(const Description& description) {
  return std::ranges::any_of(
      description.labels, [](const DescribedLabel& label) { return !label.value.from_symbol(); });
}

iocx_function_value compiled_or_nothing(const Value& value) {
  const auto compiled = value.compiled();
  return compiled ? *compiled : iocx_function_value{};
}

}  // namespace

FunctionSeries::FunctionSeries(const FunctionsObject& object,
                               std::shared_ptr<const Descriptions> descriptions)
    : object_(object), descriptions_(std::move(descriptions)) {
  for (std::uint32_t series = FunctionsObject::kOwnSeries; series-- > 1;)
    free_own_.push_back(series);
}

FunctionSeries::Function FunctionSeries::described(const DescribedFunction& found) const {
  Function function{.description = found.description, .ends = found.ending != nullptr};
  for (const DescribedLabel& label : (*descriptions_)[found.description].labels)
    function.texts.push_back(
        label.value.match ? label.value.match->rewritten(found.symbol, "\\1").value_or("") : "");
  return function;
}

std::optional<FunctionSeries::Numbers> FunctionSeries::known(std::uint32_t ioc,
                                                             const DescribedFunction& found) const {
  const auto index = indices_.find(described(found));
  if (index == indices_.end()) return {};
  const auto series = others_.find({ioc, index->second});
  if (series == others_.end()) return {};
  return Numbers{index->second, series->second};
}

std::optional<FunctionSeries::Numbers> FunctionSeries::of(std::uint32_t ioc,
                                                          const DescribedFunction& found) {
  if (const auto numbers = known(ioc, found)) return numbers;
  const kernel::Caps& caps = object_.maps().caps;
  const std::uint32_t holder = iocx_holder_of(ioc);
  if (free_own_.empty() || !caps.take(IOCX_FUNCTION_HELD_OWN, holder)) return {};
  const auto function = index_of(described(found));
  if (!function) {
    caps.give(IOCX_FUNCTION_HELD_OWN, holder);
    return {};
  }
  const std::uint32_t index = free_own_.back();
  free_own_.pop_back();
  ++functions_[*function].iocs;
  iocx_function_series& series = object_.series()[index];
  series.key.ioc = ioc;
  series.key.function = static_cast<std::uint16_t>(*function);
  series.holder = holder;
  __atomic_store_n(&series.used, 1, __ATOMIC_RELEASE);
  others_[{ioc, *function}] = index;
  return Numbers{*function, index};
}

// Nothing: there are too many.
std::optional<std::uint32_t> FunctionSeries::index_of(const Function& function) {
  if (const auto known = indices_.find(function); known != indices_.end()) return known->second;
  auto row = std::ranges::find(functions_, 0u, &Function::iocs);
  if (row == functions_.end()) {
    if (functions_.size() == IOCX_FUNCTIONS) return {};
    row = functions_.emplace(row);
  }
  const auto index = static_cast<std::uint32_t>(row - functions_.begin());
  if (const auto done = object_.maps().functions.update(index, compiled(function)); !done) {
    log::warn("{}", done.error().message());
    return {};
  }
  *row = function;
  indices_.emplace(function, index);
  return index;
}

const Description* FunctionSeries::description(std::uint32_t function) const {
  if (function >= functions_.size() || functions_[function].iocs == 0) return nullptr;
  return &(*descriptions_)[functions_[function].description];
}

iocx_function FunctionSeries::compiled(const Function& function) const {
  const Description& description = (*descriptions_)[function.description];
  iocx_function made{};
  std::uint32_t labels = 0;
  for (const DescribedLabel& label : description.labels) {
    if (label.value.from_symbol()) continue;
    made.labels[labels] = compiled_or_nothing(label.value);
    made.labels[labels++].word = static_cast<std::uint8_t>(made.words);
    made.words += words_of(label.value);
  }
  if (description.timed && function.ends) made.flags |= IOCX_FUNCTION_TIMED;
  if (description.result) {
    made.result = compiled_or_nothing(*description.result);
    if (!description.result->from_return()) made.flags |= IOCX_FUNCTION_RESULT;
    if (description.result->from_return() && function.ends)
      made.flags |= IOCX_FUNCTION_RESULT_AT_END;
  }
  if (description.key) made.key = compiled_or_nothing(*description.key);
  for (std::uint32_t i = 0; i < descriptions_->size(); ++i) {
    const Description& other = (*descriptions_)[i];
    if (other.since == description.name) {
      made.flags |= IOCX_FUNCTION_BEGINS;
      made.begins = function.description;
    }
    if (!description.since.empty() && other.name == description.since) {
      made.flags |= IOCX_FUNCTION_SINCE;
      made.since = i;
    }
    if (other.symbol.of == description.name) {
      made.flags |= IOCX_FUNCTION_POINTER;
      made.pointer = compiled_or_nothing(*other.symbol.place);
    }
  }
  return made;
}

// The row of a function is free once no IOC has it: then nothing in the maps names it.
void FunctionSeries::forget(std::uint32_t ioc, std::uint32_t function) {
  if (others_.erase({ioc, function}) > 0 && --functions_[function].iocs == 0)
    indices_.erase(functions_[function]);
}

void FunctionSeries::free_series(std::uint32_t index) {
  iocx_function_series& series = object_.series()[index];
  const auto& maps = object_.maps();
  const bool is_own = index < FunctionsObject::kOwnSeries;
  if (!is_own) {
    iocx_function_few_key few{series.key.ioc, series.key.function, series.key.unread, {}};
    std::copy_n(series.key.words, IOCX_FUNCTION_FEW_WORDS, few.words);
    static_cast<void>(maps.by_few.erase(few));
    static_cast<void>(maps.by_key.erase(series.key));
  }
  maps.caps.give(is_own ? IOCX_FUNCTION_HELD_OWN : IOCX_FUNCTION_HELD_SERIES, series.holder);
  series = {};
  unprinted_of_.erase(index);
  object_.times()[index] = {};
  if (is_own)
    free_own_.push_back(index);
  else
    trouble_.report("free a series of a function", object_.push_free(index));
}

void FunctionSeries::keep(const IocNames& names) {
  std::set<std::uint32_t> freed;
  for (std::uint32_t i = 1; i < FunctionsObject::kSeries; ++i) {
    const iocx_function_series& series = object_.series()[i];
    if (__atomic_load_n(&series.used, __ATOMIC_ACQUIRE) == 0 || names.contains(series.key.ioc))
      continue;
    forget(series.key.ioc, series.key.function);
    freed.insert(i);
    free_series(i);
  }
  if (freed.empty()) return;
  const auto& results = object_.maps().results;
  const auto keys = results.keys();
  if (!keys) return log::warn("{}", keys.error().message());
  for (const iocx_function_result_key& key : *keys) {
    if (!freed.contains(key.series)) continue;
    const auto value = results.lookup(key);
    static_cast<void>(results.erase(key));
    if (value && *value) object_.maps().caps.give(IOCX_FUNCTION_HELD_RESULTS, (*value)->holder);
  }
}

// Values of a series' labels. False: one of them does not print, and is empty.
bool FunctionSeries::read_labels(const iocx_function_series& series, bool is_rest,
                                 FunctionSample& sample) const {
  const Function& function = functions_[series.key.function];
  const Description& description = (*descriptions_)[function.description];
  std::uint32_t word = 0, read = 0;
  bool all_print = true;
  for (std::size_t i = 0; i < description.labels.size(); ++i) {
    const auto& [name, value] = description.labels[i];
    std::string text = function.texts[i];
    if (!value.from_symbol()) {
      const bool is_unread = (series.key.unread >> read++ & 1) != 0;
      text = is_rest ? "(other)" : is_unread ? "" : label_text(value, series.key, word);
      word += words_of(value);
    }
    const bool is_shown = text.empty() || prints(text);
    all_print = all_print && is_shown;
    sample.labels.emplace_back(name, is_shown ? std::move(text) : "");
  }
  return all_print;
}

std::vector<FunctionSample> FunctionSeries::samples(const IocNames& names,
                                                    const Suspended& suspended) const {
  std::vector<FunctionSample> samples;
  std::map<std::uint32_t, std::pair<std::size_t, const Description*>> by_series;
  for (std::uint32_t i = 1; i < FunctionsObject::kSeries; ++i) {
    const iocx_function_series& series = object_.series()[i];
    if (__atomic_load_n(&series.used, __ATOMIC_ACQUIRE) == 0 ||
        description(series.key.function) == nullptr ||
        suspended.contains({series.key.ioc, series.key.function}))
      continue;
    const auto ioc = names.find(series.key.ioc);
    const std::uint64_t calls = __atomic_load_n(&series.calls, __ATOMIC_RELAXED);
    const Function& function = functions_[series.key.function];
    const Description& description = (*descriptions_)[function.description];
    const bool is_rest = i < FunctionsObject::kOwnSeries;
    if (ioc == names.end() || (is_rest && calls == 0 && has_read_labels(description))) continue;
    FunctionSample sample{ioc->second, description.name, {}, calls};
    sample.description = &description;
    if (!read_labels(series, is_rest, sample))
      unprinted_ += calls - std::exchange(unprinted_of_[i], calls);
    if ((description.timed && function.ends) || !description.since.empty()) {
      const iocx_function_times& times = object_.times()[i];
      auto& durations = sample.durations.emplace();
      durations.sum_ns = __atomic_load_n(&times.sum_ns, __ATOMIC_RELAXED);
      for (std::size_t slot = 0; slot < durations.buckets.size(); ++slot)
        durations.buckets[slot] = __atomic_load_n(&times.buckets[slot], __ATOMIC_RELAXED);
    }
    if (const std::uint64_t other = __atomic_load_n(&series.other_results, __ATOMIC_RELAXED))
      sample.failures["(other)"] = sample.results["(other)"] = other;
    by_series[i] = {samples.size(), &description};
    samples.push_back(std::move(sample));
  }
  const auto read = object_.maps().results.for_each(
      [&](const iocx_function_result_key& key, const iocx_function_result& result) {
        const auto found = by_series.find(key.series);
        if (found == by_series.end()) return;
        const auto& [sample, description] = found->second;
        if (!description->result) return;
        const std::string text = description->result->number_text(key.result);
        samples[sample].results[text] += result.calls;
        if (!description->succeeded(key.result)) samples[sample].failures[text] += result.calls;
      });
  if (!read) log::warn("{}", read.error().message());
  return samples;
}

std::uint64_t FunctionSeries::used() const {
  std::uint64_t count = 0;
  for (std::uint32_t i = 1; i < FunctionsObject::kSeries; ++i)
    count += __atomic_load_n(&object_.series()[i].used, __ATOMIC_RELAXED) != 0;
  return count;
}

}  // namespace ioc_exporter::functions
