// Result<T>: a value, or what went wrong in words that name action, object and cause.
#pragma once

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>
#include <variant>

namespace ioc_exporter {

// An error. `context` says the action and the object ("attach uprobe dbProcess in /opt/x (pid
// 8)"), `code` the cause; where no errno fits, `code` is empty and `context` holds the cause as
// well.
struct Error {
  std::error_code code;
  std::string context;

  // "context: cause", one line.
  std::string message() const { return code ? context + ": " + code.message() : context; }
};

// An Error from a (positive) errno value.
inline Error error_from_errno(int errno_value, std::string context) {
  return Error{std::error_code(errno_value, std::system_category()), std::move(context)};
}
// An Error from the calling thread's errno.
inline Error last_error(std::string context) {
  return error_from_errno(errno, std::move(context));
}
// An Error that is no system call's.
inline Error error_in_words(std::string what) {
  return Error{{}, std::move(what)};
}

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(implicit)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(implicit)

  explicit operator bool() const { return state_.index() == 0; }
  bool ok() const { return state_.index() == 0; }

  T& operator*() & { return std::get<0>(state_); }
  const T& operator*() const& { return std::get<0>(state_); }
  T&& operator*() && { return std::get<0>(std::move(state_)); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }

  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)), failed_(true) {}  // NOLINT(implicit)

  explicit operator bool() const { return !failed_; }
  bool ok() const { return !failed_; }
  const Error& error() const { return error_; }

 private:
  Error error_;
  bool failed_ = false;
};

}  // namespace ioc_exporter
