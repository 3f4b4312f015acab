// Lines for the log: what is logged goes to spdlog's default logger.
//
// Texts are put together in log.cpp alone. With spdlog's own templates each file that logs compiles
// fmt's formatting of numbers again, which was most of the time that it took.
#pragma once

#include <fmt/core.h>

#include <utility>

namespace ioc_exporter::log {

enum class Level { debug, info, warn, error };

void write(Level level, fmt::string_view format, fmt::format_args values);

template <class... T>
void debug(fmt::format_string<T...> format, T&&... values) {
  write(Level::debug, format, fmt::make_format_args(values...));
}
template <class... T>
void info(fmt::format_string<T...> format, T&&... values) {
  write(Level::info, format, fmt::make_format_args(values...));
}
template <class... T>
void warn(fmt::format_string<T...> format, T&&... values) {
  write(Level::warn, format, fmt::make_format_args(values...));
}
template <class... T>
void error(fmt::format_string<T...> format, T&&... values) {
  write(Level::error, format, fmt::make_format_args(values...));
}

}  // namespace ioc_exporter::log
