#include "base/json_reader.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace ioc_exporter {
namespace {

constexpr std::size_t kDeepest = 32;  // values are written and freed by recursion

// Makes a value of the events of nlohmann's parser.
class Builder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  Json root;
  std::string problem;

  bool null() override { return add(Json()); }
  bool boolean(bool value) override { return add(Json{value}); }
  bool number_integer(std::int64_t value) override { return add(Json{value}); }
  bool number_unsigned(std::uint64_t value) override {
    if (std::in_range<std::int64_t>(value)) return add(Json{static_cast<std::int64_t>(value)});
    return add(Json{value});
  }
  bool number_float(double value, const std::string&) override { return add(Json{value}); }
  bool string(std::string& value) override { return add(Json{std::move(value)}); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Json{Json::Object()}); }
  bool start_array(std::size_t) override { return open(Json{Json::Array()}); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(std::string& key) override {
    std::get<Json::Object>(open_.back().value).push_back({std::move(key), Json()});
    return true;
  }
  bool parse_error(std::size_t at, const std::string&,
                   const nlohmann::detail::exception&) override {
    problem = "it is no JSON at byte " + std::to_string(at);
    return false;
  }

 private:
  bool open(Json container) {
    if (open_.size() == kDeepest) {
      problem = "its values are nested more than " + std::to_string(kDeepest) + " deep";
      return false;
    }
    open_.push_back(std::move(container));
    return true;
  }

  bool close() {
    Json closed = std::move(open_.back());
    open_.pop_back();
    return add(std::move(closed));
  }

  // Inlined, GCC 12 takes the alternatives that a value has not for uninitialized.
  [[gnu::noinline]] bool add(Json value) {
    if (open_.empty())
      root = std::move(value);
    else if (auto* const array = std::get_if<Json::Array>(&open_.back().value))
      array->push_back(std::move(value));
    else
      std::get<Json::Object>(open_.back().value).back().value = std::move(value);
    return true;
  }

  std::vector<Json> open_;  // arrays and objects whose end is to come
};

template <class T>
const T& as(const Json& json, const char* kind) {
  const T* const value = json.get_if<T>();
  if (value == nullptr) throw Json::Unlike(std::string("a value is no ") + kind);
  return *value;
}

}  // namespace

Result<Json> Json::parse(std::string_view text) {
  Builder builder;
  if (!nlohmann::json::sax_parse(text, &builder)) return error_in_words(builder.problem);
  return std::move(builder.root);
}

const Json* Json::find(std::string_view key) const {
  const auto* const object = get_if<Object>();
  if (object == nullptr) return nullptr;
  const auto found = std::find_if(object->rbegin(), object->rend(),
                                  [key](const auto& one) { return one.key == key; });
  return found == object->rend() ? nullptr : &found->value;
}

std::string Json::text_at(std::string_view key) const {
  const Json* const found = find(key);
  const auto* const text = found == nullptr ? nullptr : found->get_if<std::string>();
  return text == nullptr ? std::string() : *text;
}

const Json& Json::at(std::string_view key) const {
  if (const Json* const found = find(key)) return *found;
  throw Unlike("the key \"" + std::string(key) + "\" is not there");
}

const std::string& Json::text() const {
  return as<std::string>(*this, "text");
}

bool Json::flag() const {
  return as<bool>(*this, "true or false");
}

double Json::number() const {
  if (const auto* const whole = get_if<std::int64_t>()) return static_cast<double>(*whole);
  if (const auto* const great = get_if<std::uint64_t>()) return static_cast<double>(*great);
  return as<double>(*this, "number");
}

std::int64_t Json::integer() const {
  return as<std::int64_t>(*this, "whole number");
}

std::uint64_t Json::count() const {
  if (const auto* const great = get_if<std::uint64_t>()) return *great;
  const std::int64_t whole = integer();
  if (whole < 0) throw Unlike("a count is below zero");
  return static_cast<std::uint64_t>(whole);
}

const Json::Array& Json::items() const {
  return as<Array>(*this, "list");
}

}  // namespace ioc_exporter
