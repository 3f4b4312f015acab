// /proc/PID/stat (proc(5)): the one small file that tells whether a process is still the same one.
// Only in this header, so that layers beside this one read it without linking the finder.
#pragma once

#include <algorithm>
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
  const auto open = text.find('(');
  const auto close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return {};
  ProcessStat stat;
  const char* const pid_end = text.data() + open;
  if (std::from_chars(text.data(), pid_end, stat.id.pid).ec != std::errc{}) return {};
  stat.thread = stat.id.pid;
  stat.comm = text.substr(open + 1, close - open - 1);

  int field = 3;
  for (std::size_t at = close + 1; at < text.size() && field <= 28; ++field) {
    at = text.find_first_not_of(" \n", at);
    if (at == std::string_view::npos) break;
    const auto end = std::min(text.find_first_of(" \n", at), text.size());
    const std::string_view word = text.substr(at, end - at);
    at = end;
    if (field == 3) {
      stat.state = word.front();
      continue;
    }
    std::int64_t parent = 0;
    std::uint64_t number = 0;
    const char* const last = word.data() + word.size();
    switch (field) {
      case 4:
        if (std::from_chars(word.data(), last, parent).ec != std::errc{}) return {};
        stat.parent = static_cast<pid_t>(parent);
        continue;
      case 9:
      case 14:
      case 15:
      case 20:
      case 22:
      case 23:
      case 24:
      case 26:
      case 28:
        if (std::from_chars(word.data(), last, number).ec != std::errc{}) return {};
        break;
      default:
        continue;
    }
    if (field == 9) stat.flags = number;
    if (field == 14 || field == 15) stat.cpu_ticks += number;
    if (field == 20) stat.threads = number;
    if (field == 22) stat.id.start_ticks = number;
    if (field == 23) stat.vsize = number;
    if (field == 24) stat.resident_pages = number;
    if (field == 26) stat.start_code = number;
    if (field == 28) stat.start_stack = number;
  }
  if (field <= 28) return {};
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
  const auto look_through = [&](pid_t thread) {
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
  if (last != 0 && last != stat.id.pid && look_through(last)) return true;
  const auto found = find_live_thread(fs, stat.id.pid);
  return found && look_through(*found);
}

// Another program runs in the process than before.
inline bool execed(const ProcessStat& before, const ProcessStat& now) {
  return before.start_code != now.start_code || before.start_stack != now.start_stack;
}

}  // namespace ioc_exporter::iocs
