// The value of a Result, or the words of its error.
#pragma once

#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "base/result.h"

namespace ioc_exporter {

// After an error the test ends, and its failure says the error's words.
template <class T>
void must_succeed(const Result<T>& result) {
  if (!result) throw std::runtime_error(result.error().message());
}
template <class T>
T value_of(Result<T> result) {
  must_succeed(result);
  return *std::move(result);
}
template <class T>
T value_of(std::optional<T> value) {
  return std::move(value).value();
}

// The only element of a container.
template <class Container>
const auto& only(const Container& all) {
  if (std::size(all) != 1) throw std::length_error(std::to_string(std::size(all)) + " elements");
  return *std::begin(all);
}
template <class Container>
auto only(Container&& all) requires(!std::is_lvalue_reference_v<Container>) {
  return only<Container>(all);
}

// "" without one.
template <class T>
std::string error_of(const Result<T>& result) {
  return result ? "" : result.error().message();
}

}  // namespace ioc_exporter
