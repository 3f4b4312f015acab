// JSON that was read. What is written goes by exposition/json_text.h.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace ioc_exporter {

struct Json {
  struct Member;
  using Array = std::vector<Json>;
  using Object = std::vector<Member>;  // in the order of the text
  // Whole numbers are std::int64_t; std::uint64_t has those that are greater.
  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, Array,
               Object>
      value;

  // An error for what is no JSON, or nested too deep to be ours.
  static Result<Json> parse(std::string_view text);

  template <class T>
  const T* get_if() const {
    return std::get_if<T>(&value);
  }
  bool is_null() const { return value.index() == 0; }
  bool is_number() const { return value.index() >= 2 && value.index() <= 4; }

  // Null: there is none, or this is no object. The last one of those with the same key.
  const Json* find(std::string_view key) const;
  // "" where the key is absent or no text.
  std::string text_at(std::string_view key) const;

  // In read_json(): what is absent or of another kind ends the reading.
  const Json& at(std::string_view key) const;
  const std::string& text() const;
  bool flag() const;
  double number() const;
  std::int64_t integer() const;
  std::uint64_t count() const;
  const Array& items() const;

  // It ends read_json().
  struct Unlike : std::runtime_error {
    using std::runtime_error::runtime_error;
  };
};

struct Json::Member {
  std::string key;
  Json value;
};

// The result of `read(const Json&)` for the parsed text.
template <class Read>
auto read_json(std::string_view text, Read read) -> Result<decltype(read(Json()))> {
  const auto json = Json::parse(text);
  if (!json) return json.error();
  try {
    return read(*json);
  } catch (const Json::Unlike& problem) {
    return error_in_words(problem.what());
  }
}

}  // namespace ioc_exporter
