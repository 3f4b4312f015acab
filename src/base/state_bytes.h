// The text of a state file: a title with the format's number, the generation, numbers and texts,
// and a sum of all that. Numbers are little-endian. What is read is checked, each number: it comes
// from a folder that only the exporter's user writes to, and is not trusted all the same.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/result.h"
#include "base/state_files.h"

namespace ioc_exporter {

static_assert(std::endian::native == std::endian::little);

class StateWriter {
 public:
  StateWriter(std::string_view title, std::uint64_t generation) : bytes_(title) { put(generation); }

  // A number, or a struct of numbers without gaps.
  template <class Value>
  void put(const Value& value) {
    static_assert(std::is_floating_point_v<Value> ||
                  std::has_unique_object_representations_v<Value>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void put_text(std::string_view text) {
    put(static_cast<std::uint32_t>(text.size()));
    bytes_ += text;
  }
  std::size_t size() const { return bytes_.size(); }
  // The whole text. Nothing follows.
  std::string finish() {
    put(fnv1a(bytes_));
    return std::move(bytes_);
  }

 private:
  std::string bytes_;
};

class StateReader {
 public:
  // An error: another title, or another sum. `bytes` must outlive it.
  static Result<StateReader> open(std::string_view bytes, std::string_view title) {
    if (!bytes.starts_with(title)) return error_in_words("it is not of this format");
    StateReader sum(bytes.substr(bytes.size() - std::min(bytes.size(), sizeof(std::uint64_t))));
    StateReader reader(bytes.substr(title.size()));
    std::uint64_t written = 0;
    if (reader.rest_.size() < sizeof written + sizeof reader.generation_ || !sum.take(written))
      return error_in_words("it ends too early");
    if (fnv1a(bytes.substr(0, bytes.size() - sizeof written)) != written)
      return error_in_words("the sum is another one");
    reader.rest_.remove_suffix(sizeof written);
    (void)reader.take(reader.generation_);
    return reader;
  }

  std::uint64_t generation() const { return generation_; }
  // False, of all of these: it is not there. What was read before that stays.
  template <class Value>
  bool take(Value& into) {
    if (rest_.size() < sizeof into) return false;
    std::memcpy(&into, rest_.data(), sizeof into);
    rest_.remove_prefix(sizeof into);
    return true;
  }
  bool take_text(std::string& into, std::size_t longest) {
    std::uint32_t length = 0;
    if (!take(length) || length > longest || rest_.size() < length) return false;
    into = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return true;
  }
  // Of elements that follow, of so many bytes each at least: before anything is allocated for them.
  bool take_count(std::uint32_t& into, std::size_t least) {
    return take(into) && into <= rest_.size() / least;
  }
  bool at_end() const { return rest_.empty(); }

 private:
  explicit StateReader(std::string_view rest) : rest_(rest) {}

  std::string_view rest_;
  std::uint64_t generation_ = 0;
};

}  // namespace ioc_exporter
