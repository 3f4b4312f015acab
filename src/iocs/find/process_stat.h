// /proc/PID/stat (proc(5)): the one small file that says whether a process is still the same one.
// Only in this header, so that layers beside this one read it without linking the finder.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/process_stats.h"
#include "base/rooted_fs.h"
#include "iocs/ioc_id.h"

namespace ioc_exporter::iocs {

struct ProcessStat {
  IocId id;
  // The thread in whose folder /proc shows the process: the main one, also when that has ended,
  // until choose_thread() was asked for another.
  pid_t thread = 0;
  std::string comm;
  char state = '?';
  pid_t parent = 0;
  std::uint64_t flags = 0;
  std::uint64_t cpu_ticks = 0;  // user and system, of all its threads, ended ones too
  std::uint64_t threads = 0;
  std::uint64_t vsize = 0;  // bytes
  std::uint64_t resident_pages = 0;
  // Both move with every exec (address randomization); 0 or 1 without the right to trace the
  // process.
  std::uint64_t start_code = 0;
  std::uint64_t start_stack = 0;

  bool kernel_thread() const { return (flags & 0x00200000u) != 0; }  // PF_KTHREAD
  // It has run no program of its own since it was forked.
  bool forked() const { return (flags & 0x00000040u) != 0; }  // PF_FORKNOEXEC
  // A thread that ends gives back its memory first. Others may run on.
  bool main_thread_ended() const {
    const bool is_gone = state == 'Z' || state == 'X' || state == 'x';
    return thread != id.pid || is_gone || (vsize == 0 && !kernel_thread());
  }
  bool dead() const { return main_thread_ended() && threads <= 1; }
};

// comm stands in parentheses and may hold spaces and parentheses itself: fields count from the last
// ')'.
inline std::optional<ProcessStat> parse_process_stat(std::string_view text) {
  constexpr std::uint32_t kWanted = 1u << 4 | 1u << 9 | 1u << 14 | 1u << 15 | 1u << 20 | 1u << 22 |
                                    1u << 23 | 1u << 24 | 1u << 26 | 1u << 28;
  const auto open = text.find('(');
  const auto close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return {};
  ProcessStat stat;
  const char* const pid_end = text.data() + open;
  if (std::from_chars(text.data(), pid_end, stat.id.pid).ec != std::errc{}) return {};
  stat.thread = stat.id.pid;
  stat.comm = text.substr(open + 1, close - open - 1);

  std::array<std::uint64_t, 29> numbers{};  // by field
  int field = 3;
  for (std::size_t at = close + 1; at < text.size() && field <= 28; ++field) {
    at = text.find_first_not_of(" \n", at);
    if (at == std::string_view::npos) break;
    const auto end = std::min(text.find_first_of(" \n", at), text.size());
    const std::string_view word = text.substr(at, end - at);
    at = end;
    if (field == 3) stat.state = word.front();
    const bool wanted = (1u << field & kWanted) != 0;
    std::uint64_t& number = numbers[static_cast<std::size_t>(field)];
    if (wanted && std::from_chars(word.data(), word.data() + word.size(), number).ec != std::errc{})
      return {};
  }
  if (field <= 28) return {};
  stat.parent = static_cast<pid_t>(numbers[4]);
  stat.flags = numbers[9];
  stat.cpu_ticks = numbers[14] + numbers[15];
  stat.threads = numbers[20];
  stat.id.start_ticks = numbers[22];
  stat.vsize = numbers[23];
  stat.resident_pages = numbers[24];
  stat.start_code = numbers[26];
  stat.start_stack = numbers[28];
  return stat;
}

inline Result<ProcessStat> read_process_stat(const RootedFs& fs, pid_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/stat";
  auto text = fs.read(path, 4096);
  if (!text) return std::move(text).error();
  auto stat = parse_process_stat(*text);
  if (!stat) return error_in_words("read " + path + ": not in the form of proc(5)");
  return std::move(*stat);
}

// The same through the open folder /proc; nothing: it has ended.
inline std::optional<ProcessStat> read_process_stat(const Folder& proc, pid_t pid) {
  char buffer[2048];
  const auto text = proc.read((std::to_string(pid) + "/stat").c_str(), buffer);
  return text ? parse_process_stat(*text) : std::nullopt;
}

// Of a process whose main thread has ended: the thread that shows it from now on, `last` if that
// still lives, and of its stat what the main thread does not have any more. False: all have ended.
inline bool choose_thread(const RootedFs& fs, ProcessStat& stat, pid_t last = 0) {
  if (!stat.main_thread_ended()) return true;
  if (stat.dead()) return false;
  const auto has_thread = [&](pid_t thread) {
    const auto text = fs.read(folder_of_thread(stat.id.pid, thread) + "/stat", 4096);
    const auto seen = text ? parse_process_stat(*text) : std::nullopt;
    if (!seen || seen->main_thread_ended()) return false;
    stat.thread = thread;
    stat.vsize = seen->vsize;
    stat.resident_pages = seen->resident_pages;
    stat.start_code = seen->start_code;
    stat.start_stack = seen->start_stack;
    return true;
  };
  if (last != 0 && last != stat.id.pid && has_thread(last)) return true;
  const auto found = find_live_thread(fs, stat.id.pid);
  return found && has_thread(*found);
}

// Another program runs in the process than before.
inline bool execed(const ProcessStat& before, const ProcessStat& now) {
  return before.start_code != now.start_code || before.start_stack != now.start_stack;
}

}  // namespace ioc_exporter::iocs
