#include "top/screen.h"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace ioc_exporter::top {
namespace {

// xterm's control sequences, which all of today's terminals know.
constexpr const char* kEnter = "\x1b[?1049h\x1b[?25l";  // the other screen, no cursor
constexpr const char* kLeave = "\x1b[?25h\x1b[?1049l";
constexpr const char* kHome = "\x1b[H";
constexpr const char* kRestOfLine = "\x1b[K";
constexpr const char* kRestOfScreen = "\x1b[J";

constexpr std::array kToEnd = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

sigset_t watched() {
  sigset_t set;
  sigemptyset(&set);
  for (const int one : kToEnd) sigaddset(&set, one);
  sigaddset(&set, SIGTSTP);
  sigaddset(&set, SIGWINCH);
  return set;
}

bool write(std::FILE* out, const std::string& text) {
  return std::fwrite(text.data(), 1, text.size(), out) == text.size() && std::fflush(out) == 0;
}

}  // namespace

Result<std::unique_ptr<Screen>> Screen::take(int in, std::FILE* out) {
  termios before{};
  if (::tcgetattr(in, &before) != 0) return last_error("ask how the terminal is set");
  const sigset_t set = watched();
  UniqueFd signals(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals) return last_error("open a descriptor of signals");
  std::unique_ptr<Screen> screen(new Screen(in, out, std::move(signals), before));
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  if (!screen->enter()) return last_error("set the terminal");
  return screen;
}

Screen::~Screen() {
  leave();
  const sigset_t set = watched();
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

bool Screen::enter() const {
  termios keys = before_;
  keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  keys.c_cc[VMIN] = 1;
  keys.c_cc[VTIME] = 0;
  return ::tcsetattr(in_, TCSADRAIN, &keys) == 0 && write(out_, kEnter);
}

void Screen::leave() const {
  write(out_, kLeave);
  ::tcsetattr(in_, TCSADRAIN, &before_);
}

Screen::Size Screen::size() const {
  winsize size{};
  if (::ioctl(::fileno(out_), TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0)
    return {};
  return {size.ws_row, size.ws_col};
}

bool Screen::show(const std::vector<std::string>& lines) const {
  const std::size_t count = std::min(lines.size(), size().lines);
  std::string text = kHome;
  for (std::size_t i = 0; i < count; ++i)
    text += lines[i] + kRestOfLine + (i + 1 < count ? "\r\n" : "");
  return write(out_, text + kRestOfScreen);
}

Screen::Happened Screen::on_signal() const {
  signalfd_siginfo info{};
  if (::read(signals_.get(), &info, sizeof info) != static_cast<ssize_t>(sizeof info)) return {};
  const int number = static_cast<int>(info.ssi_signo);
  if (std::ranges::find(kToEnd, number) != kToEnd.end()) return {Event::ended};
  if (number == SIGTSTP) {
    leave();
    ::raise(SIGSTOP);  // until it is to go on
    if (!enter()) return {Event::ended};
  }
  return {Event::resized};
}

Screen::Happened Screen::wait(std::chrono::milliseconds patience, int wake) {
  std::array<pollfd, 3> all = {{{in_, POLLIN, 0}, {signals_.get(), POLLIN, 0}, {wake, POLLIN, 0}}};
  if (::poll(all.data(), all.size(), static_cast<int>(patience.count())) <= 0) return {};
  if (all[1].revents != 0) return on_signal();
  if (all[2].revents != 0) return {Event::woken};
  char key = 0;
  if (::read(in_, &key, 1) != 1) return {Event::ended};  // the terminal is gone
  return {Event::key, key};
}

}  // namespace ioc_exporter::top
