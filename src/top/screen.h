// Screen: the terminal while top has it: its other screen, keys one by one, signals as events.
#pragma once

#include <termios.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace ioc_exporter::top {

class Screen {
 public:
  // Takes the terminal of `in` and `out`; gives it back when it goes, and while the program is
  // stopped. Ctrl-C and other signals to end come as events from then on.
  static Result<std::unique_ptr<Screen>> take(int in, std::FILE* out);
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  struct Size {
    std::size_t lines = 24, columns = 80;
  };
  Size size() const;
  // False: it cannot be written to any more.
  bool show(const std::vector<std::string>& lines) const;

  enum class Event : std::uint8_t { none, key, resized, woken, ended };
  struct Happened {
    Event event = Event::none;
    char key = 0;
  };
  // Next event, `none` after `patience`; `woken` when `wake` can be read.
  Happened wait(std::chrono::milliseconds patience, int wake);

 private:
  Screen(int in, std::FILE* out, UniqueFd signals, const termios& before)
      : in_(in), out_(out), signals_(std::move(signals)), before_(before) {}

  bool enter() const;
  void leave() const;
  Happened on_signal() const;

  const int in_;
  std::FILE* const out_;
  UniqueFd signals_;
  const termios before_;
};

}  // namespace ioc_exporter::top
