#include "putlog/bursts.h"

#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

namespace ioc_exporter::putlog {
namespace {

constexpr std::size_t kOpenBytes = 256;  // of one without an event, about

std::optional<double> number_in(const std::string& text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, problem] = std::from_chars(text.data(), end, number);
  if (problem != std::errc() || rest != end || std::isnan(number)) return {};
  return number;
}

// Number for minimum and maximum: caput sends numbers as texts.
std::optional<Element> number_of(const PutEvent& event) {
  if (!event.value || event.value->is_array || event.value->elements.size() != 1) return {};
  const Element& element = event.value->elements.front();
  if (const auto* text = std::get_if<std::string>(&element)) return number_in(*text);
  const double* number = std::get_if<double>(&element);
  if (number != nullptr && std::isnan(*number)) return {};
  return element;
}

// Of what has none, but for arrays, only the same is put together: nobody hides a text, or NaN,
// between two others.
std::string kind_of(const PutEvent& event) {
  if (!event.value || number_of(event)) return event.value ? "number" : "";
  if (event.value->is_array || event.value->elements.size() != 1) return "array";
  const auto* text = std::get_if<std::string>(&event.value->elements.front());
  return text != nullptr ? "=" + *text : "NaN";
}

std::string key_of(const PutEvent& event) {
  const std::string kind = kind_of(event);
  std::string key;
  const auto add = [&key](std::string_view part) {
    key += std::to_string(part.size());
    key.append(":").append(part);
  };
  for (const std::string_view part :
       {std::string_view(event.ioc), address_of(event), std::string_view(event.user),
        std::string_view(event.client_host), std::string_view(event.channel_of),
        std::string_view(event.pv), std::string_view(event.op), std::string_view(event.type),
        std::string_view(event.value_unknown), std::string_view(event.overread ? "overread" : ""),
        std::string_view(event.status), std::string_view(event.rule),
        std::string_view(event.action), std::string_view(kind), std::string_view(event.process),
        std::string_view(event.block ? "block" : "")})
    add(part);
  return key;
}

// Of one burst all are of one DBR type, so of one kind.
bool is_less(const Element& one, const Element& other) {
  return one.index() == other.index() && one < other;
}

}  // namespace

void Bursts::weigh(Open& open) {
  bytes_ -= open.bytes;
  open.bytes = kOpenBytes + 2 * open.key.size();
  if (open.entry.event) open.bytes += delivery::footprint(*open.entry.event);
  bytes_ += open.bytes;
}

void Bursts::add(Entry& entry, SharedEvent event) {
  ++held_;
  if (entry.puts++ == 0) {
    entry.burst.emplace();
  } else {
    // The last put, with the value before the first.
    auto merged = std::make_shared<PutEvent>(*event);
    merged->old = entry.event->old;
    event = std::move(merged);
  }
  entry.event = std::move(event);
  const auto number = number_of(*entry.event);
  if (!number) return;
  Burst& burst = *entry.burst;
  if (!burst.least || is_less(*number, *burst.least)) burst.least = number;
  if (!burst.most || is_less(*burst.most, *number)) burst.most = number;
}

void Bursts::take(SharedEvent event, Clock::time_point now, std::vector<Entry>& out) {
  end_due(now, out);
  if (window_.count() == 0 || !event->fields.empty()) {  // members' values have no least and most
    out.push_back({std::move(event)});
    return;
  }
  std::string key = key_of(*event);
  if (const auto known = by_key_.find(key); known != by_key_.end()) {
    add(known->second->entry, std::move(event));
    weigh(*known->second);
  } else {
    out.push_back({std::move(event)});
    open_.push_back({key, now + window_, Entry{nullptr, 0}});
    weigh(open_.back());
    by_key_.emplace(std::move(key), std::prev(open_.end()));
  }
  while (by_key_.size() > most_ || bytes_ > most_bytes_) end(open_.begin(), out);
}

void Bursts::emit(Place open, std::vector<Entry>& out) {
  Entry& entry = open->entry;
  held_ -= entry.puts;
  if (entry.puts == 1) entry.burst.reset();  // as it is
  if (entry.puts > 0) out.push_back(std::move(entry));
  open->entry = Entry{nullptr, 0};
  weigh(*open);
}

void Bursts::end(Place open, std::vector<Entry>& out) {
  emit(open, out);
  bytes_ -= open->bytes;
  by_key_.erase(open->key);
  open_.erase(open);
}

void Bursts::end_due(Clock::time_point now, std::vector<Entry>& out) {
  while (!open_.empty() && open_.front().due <= now) {
    const Place open = open_.begin();
    if (open->entry.puts == 0) {  // quiet for a whole window: the next put is a first one
      end(open, out);
      continue;
    }
    emit(open, out);
    open->due = now + window_;
    open_.splice(open_.end(), open_, open);
  }
}

void Bursts::end_all(std::vector<Entry>& out) {
  while (!open_.empty()) end(open_.begin(), out);
}

std::optional<Bursts::Clock::time_point> Bursts::next_due() const {
  if (held_ == 0) return std::nullopt;
  return open_.front().due;
}

}  // namespace ioc_exporter::putlog
