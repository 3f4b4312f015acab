#include "iocs/find/process_signs.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/ascii.h"
#include "base/process_stats.h"
#include "base/utf8.h"
#include "iocs/memory/memory.h"

namespace ioc_exporter::iocs {
namespace {

constexpr std::size_t kMostPasswd = 4u << 20;
constexpr std::size_t kLongestUser = 64;

std::string_view take_field(std::string_view& line) {
  const auto end = std::min(line.find(':'), line.size());
  const std::string_view field = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return field;
}

bool is_number(std::string_view text) {
  return text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

std::optional<uid_t> user_of(const RootedFs& fs, pid_t pid) {
  const auto status = fs.read("/proc/" + std::to_string(pid) + "/status", 4096);
  const auto user = status ? number_after(*status, "\nUid:") : std::nullopt;
  return user ? std::optional(static_cast<uid_t>(*user)) : std::nullopt;
}

void UserNames::read() {
  struct stat status {};
  const bool there = ::stat(fs_.path("/etc/passwd").c_str(), &status) == 0;
  const std::int64_t changed = status.st_ctim.tv_sec * 1'000'000'000 + status.st_ctim.tv_nsec;
  if (there && status.st_ino == inode_ && changed == changed_ns_) return;
  names_.clear();
  inode_ = status.st_ino;
  changed_ns_ = changed;
  const auto text = fs_.read_regular("/etc/passwd", kMostPasswd);
  if (!text) return;
  for (std::string_view lines = *text; !lines.empty();) {
    std::string_view line = take_line(lines);
    const std::string_view name = take_field(line);
    take_field(line);  // the password
    const std::string_view number = take_field(line);
    uid_t user = 0;
    const auto read = std::from_chars(number.data(), number.data() + number.size(), user);
    // A name of digits would pass for another user's number.
    if (read.ec != std::errc() || read.ptr != number.data() + number.size() || is_number(name))
      continue;
    names_.try_emplace(user, printable_utf8(name, kLongestUser));
  }
}

std::string UserNames::name_of(uid_t user) {
  if (user == kNoUser) return "";
  read();
  const auto found = names_.find(user);
  return found == names_.end() ? std::to_string(user) : found->second;
}

namespace {

// The probes and the web server need the greater part.
bool is_among_the_first_half(int fd) {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 && static_cast<rlim_t>(fd) < limit.rlim_cur / 2;
}

constexpr std::string_view kProc = "/proc/";

// Takes the next decimal number, whatever stands before it.
template <class Number>
bool take(std::string_view& text, Number& number) {
  text.remove_prefix(std::min(text.find_first_of("0123456789"), text.size()));
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  return true;
}

constexpr std::size_t kMostStatus = 4096;

// Text after `field` ("\nState:\t") up to the end of the line.
std::optional<std::string_view> value_of(std::string_view status, std::string_view field) {
  const auto at = status.find(field);
  if (at == std::string_view::npos) return {};
  status.remove_prefix(at + field.size());
  return status.substr(0, status.find('\n'));
}

}  // namespace

// "0.20 0.18 0.12 1/80 11206": running and all tasks, the last pid.
std::optional<ProcessSigns> read_process_signs(const Folder& proc) {
  char buffer[128];
  auto text = proc.read("loadavg", buffer);
  const auto slash = text ? text->find('/') : std::string_view::npos;
  if (slash == std::string_view::npos) return {};
  text->remove_prefix(slash);
  ProcessSigns signs;
  return take(*text, signs.tasks) && take(*text, signs.last_pid) ? std::optional(signs)
                                                                 : std::nullopt;
}

bool given_out(pid_t pid, const ProcessSigns& before, const ProcessSigns& after) {
  if (before.last_pid <= after.last_pid) return pid > before.last_pid && pid <= after.last_pid;
  return pid > before.last_pid || pid <= after.last_pid;
}

// "size resident shared text lib data dt"
std::optional<MemorySizes> read_memory_sizes(const Folder& proc, pid_t pid, pid_t thread) {
  const std::string name = folder_of_thread(pid, thread).substr(kProc.size()) + "/statm";
  char buffer[128];
  auto text = proc.read(name.c_str(), buffer);
  std::array<std::uint64_t, 6> fields{};
  if (!text) return {};
  for (std::uint64_t& field : fields)
    if (!take(*text, field)) return {};
  return MemorySizes{fields[0], fields[3], fields[5]};
}

KeptFile KeptFile::open(const RootedFs& fs, const std::string& path) {
  KeptFile kept;
  if (auto fd = fs.open(path, O_RDONLY); fd && is_among_the_first_half(fd->get()))
    kept.fd_ = std::move(*fd);
  return kept;
}

std::optional<std::string> KeptFile::read(std::size_t most) const {
  std::string text(most, '\0');
  const ssize_t got = ::pread(fd_.get(), text.data(), text.size(), 0);
  if (got < 0) return {};
  text.resize(static_cast<std::size_t>(got));
  return text;
}

bool KeptFile::has_memory() const {
  return iocs::has_memory(fd_.get());
}

Result<std::string> why_traced_or_stopped(const RootedFs& fs, const std::string& folder,
                                          const KeptFile& kept) {
  const std::string path = folder + "/status";
  std::optional<std::string> status = kept.is_open() ? kept.read(kMostStatus) : std::nullopt;
  if (!status) {
    auto read = fs.read(path, kMostStatus);
    if (!read) return std::move(read).error();
    status = std::move(*read);
  }
  // The process' name comes first, with its newlines escaped: no field can be forged by it.
  const auto state = value_of(*status, "\nState:\t");
  const auto tracer = value_of(*status, "\nTracerPid:\t");
  if (!state || state->empty() || !tracer)
    return error_in_words("read " + path + ": not in the form of proc(5)");
  const char letter = state->front();
  if (letter == 'Z' || letter == 'X')
    return error_in_words("read " + path + ": the thread has ended");
  pid_t by = 0;
  std::from_chars(tracer->data(), tracer->data() + tracer->size(), by);
  if (by > 0) {
    const auto comm = fs.read("/proc/" + std::to_string(by) + "/comm", 64);
    const std::string name =
        comm ? printable_utf8(std::string_view(*comm).substr(0, comm->find('\n')), 64) : "";
    const std::string number = "pid " + std::to_string(by);
    return "traced by " + (name.empty() ? number : name + " (" + number + ")");
  }
  if (letter == 'T' || letter == 't') return std::string("stopped by a signal");
  return std::string();
}

}  // namespace ioc_exporter::iocs
