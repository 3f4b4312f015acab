// What a field gets of what was sent: the part of value.h that follows dbConvert.c.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <concepts>
#include <limits>
#include <string_view>
#include <utility>

#include "putlog/database_types.h"
#include "putlog/value.h"

namespace ioc_exporter::putlog {
namespace {

template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number number{};
  const auto [rest, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || rest != text.data() + text.size()) return std::nullopt;
  return number;
}

// Nothing: compilers, or Bases, differ.
template <class T>
std::optional<Element> number_as(double number) {
  if constexpr (std::same_as<T, double>) return Element(number);
  using Limits = std::numeric_limits<T>;
  if constexpr (std::floating_point<T>) {
    if (std::isfinite(number) && std::abs(number) > Limits::max()) return std::nullopt;
  } else {
    const double whole = std::trunc(number), end = std::ldexp(1.0, Limits::digits);
    if (!(whole >= static_cast<double>(Limits::lowest()) && whole < end)) return std::nullopt;
  }
  return element_of(static_cast<T>(number));
}

// In a whole number Bases take "010" and "1e3" in different ways.
template <class T>
std::optional<Element> text_as(const std::string& text) {
  if constexpr (!std::floating_point<T>) {
    const auto whole = number_in<T>(text);
    const std::size_t first = text.starts_with('-') ? 1 : 0;
    if (text.size() > first + 1 && text[first] == '0' && text[first + 1] != '.')
      return std::nullopt;
    if (whole) return element_of(*whole);
    if (text.find_first_of("eE") != std::string::npos) return std::nullopt;
  }
  const auto number = number_in<double>(text);
  return number ? number_as<T>(*number) : std::nullopt;
}

template <class T>
std::optional<Element> as(const Element& sent) {
  if (const auto* text = std::get_if<std::string>(&sent)) return text_as<T>(*text);
  if (const auto* whole = std::get_if<std::int64_t>(&sent))
    return element_of(static_cast<T>(*whole));
  const auto* number = std::get_if<double>(&sent);
  return number != nullptr ? number_as<T>(*number) : std::nullopt;
}

std::optional<Element> as_text(const Element& sent, std::size_t size) {
  if (const auto* text = std::get_if<std::string>(&sent)) return text->substr(0, size - 1);
  const auto* whole = std::get_if<std::int64_t>(&sent);
  return whole != nullptr ? std::optional<Element>(std::to_string(*whole)) : std::nullopt;
}

std::optional<Element> converted(const Element& sent, Dbf type, const iocx_putlog_event& event) {
  const bool is_text = std::holds_alternative<std::string>(sent);
  switch (type) {
    case Dbf::string:
      return as_text(sent, event.field_size);
    case Dbf::choice:  // a text is a state's, or its number
      return is_text ? sent : as<std::uint16_t>(sent);
    case Dbf::character:
      if (event.source == IOCX_PUTLOG_PVA) return as<std::int8_t>(sent);
      [[fallthrough]];
    case Dbf::uchar:
      return is_text ? sent : as<std::uint8_t>(sent);
    case Dbf::int16:
      return as<std::int16_t>(sent);
    case Dbf::uint16:
      return as<std::uint16_t>(sent);
    case Dbf::int32:
      return as<std::int32_t>(sent);
    case Dbf::uint32:
      return as<std::uint32_t>(sent);
    case Dbf::int64:
      return as<std::int64_t>(sent);
    case Dbf::uint64:
      return as<std::uint64_t>(sent);
    case Dbf::float32:
      return as<float>(sent);
    case Dbf::float64:
      return as<double>(sent);
    default:
      return std::nullopt;
  }
}

// Elements that the field can take.
std::uint32_t most_of(const iocx_putlog_event& event) {
  return event.most == 0 ? UINT32_MAX : event.most;
}

std::optional<Value> converted(const Value& sent, Dbf type, const iocx_putlog_event& event,
                               Bytes bytes) {
  Value value{{}, (event.flags & IOCX_PUTLOG_IS_ARRAY) != 0};
  if ((event.flags & IOCX_PUTLOG_SENT_CHOICE) != 0)
    if (std::string text = choice_in(bytes.first(event.room)); !text.empty()) {
      value.elements = {std::move(text)};
      return value;
    }
  for (const Element& one : sent.elements) {
    if (value.elements.size() == most_of(event)) break;
    auto element = converted(one, type, event);
    if (!element) return std::nullopt;
    value.elements.push_back(std::move(*element));
  }
  return value;
}

std::optional<double> as_double(const Element& element) {
  if (const auto* whole = std::get_if<std::int64_t>(&element)) return static_cast<double>(*whole);
  const auto* number = std::get_if<double>(&element);
  return number != nullptr ? std::optional(*number) : std::nullopt;
}

// 4 and 4.0 are, and NaN and NaN.
bool are_same(const Element& one, const Element& other) {
  const auto first = as_double(one), second = as_double(other);
  if (!first || !second) return one == other;
  return *first == *second || (std::isnan(*first) && std::isnan(*second));
}

}  // namespace

Taken taken_of(Value sent, Dbf type, const iocx_putlog_event& event, Bytes bytes) {
  const bool is_known = event.field_size != 0 && !is_acknowledgement(event);
  const Dbf kind = is_known ? dbf_of(event, event.field_type) : Dbf::other;
  const auto value = kind == Dbf::other ? std::nullopt : converted(sent, kind, event, bytes);
  if (!value) return {told_value(std::move(sent), type, event.count), std::nullopt, type};
  const std::uint64_t size = std::min(event.count, most_of(event));
  Taken taken{told_value(*value, kind, size), std::nullopt, kind};
  if (size != event.count || !std::ranges::equal(value->elements, sent.elements, are_same))
    taken.sent = told_value(std::move(sent), type, event.count);
  return taken;
}

}  // namespace ioc_exporter::putlog
