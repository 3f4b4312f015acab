#include "iocs/seen_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "base/rooted_fs.h"
#include "base/utf8.h"

namespace ioc_exporter::iocs {
namespace {

constexpr std::string_view kTitle = "ioc_exporter: IOCs that were seen, format 1";
constexpr std::size_t kLargest = 1u << 20, kLongestName = 4096;
constexpr mode_t kFileMode = 0640, kFolderMode = 0750;

// FNV-1a: against a write that was cut, not against people.
std::uint64_t sum_of(std::string_view text) {
  std::uint64_t sum = 14695981039346656037u;
  for (const char each : text) sum = (sum ^ static_cast<unsigned char>(each)) * 1099511628211u;
  return sum;
}

std::string_view take(std::string_view& text, char end) {
  const auto at = std::min(text.find(end), text.size());
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return part;
}

template <class Number>
bool read_number(std::string_view text, Number& into) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), into);
  return problem == std::errc() && end == text.data() + text.size();
}

bool read_exit(const std::vector<std::string_view>& fields, std::optional<IocExit>& exit) {
  const std::string_view reason = fields[5], detail = fields[6];
  if (reason == "-" && detail == "-") return true;
  const auto text = printable_utf8(detail, 32);
  if (reason == "exit")
    exit = IocExit{"exit", text, ""};
  else if (reason == "signal" || reason == "core_dump")
    exit = IocExit{std::string(reason), "", text};
  return exit && text == detail;
}

bool read_line(std::string_view line, SeenByName& into) {
  std::vector<std::string_view> fields;
  while (!line.empty()) fields.push_back(take(line, '\t'));
  if (fields.size() != 7) return false;
  const std::string name = printable_utf8(fields[0], kLongestName);
  SeenIoc ioc;
  const bool valid = !name.empty() && name == fields[0] && read_number(fields[1], ioc.user) &&
                     read_number(fields[2], ioc.longest_run) && read_number(fields[3], ioc.gone) &&
                     ioc.gone >= 0 && read_number(fields[4], ioc.last_seen) &&
                     read_exit(fields, ioc.exit);
  return valid && into.emplace(name, std::move(ioc)).second;
}

std::string end_of(std::string_view text) {
  char sum[17];
  const auto [end, problem] = std::to_chars(sum, sum + sizeof sum, sum_of(text), 16);
  return "end " + std::string(sum, end) + "\n";
}

Result<UniqueFd> open_file(int folder, const std::string& path, const char* name) {
  UniqueFd file(
      ::openat(folder, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, kFileMode));
  if (!file) return last_error("open " + path);
  if (auto ok = check_owned(file.get(), path); !ok) return ok.error();
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return last_error("look at " + path);
  if (!S_ISREG(status.st_mode)) return error_in_words("open " + path + ": it is no regular file");
  if (status.st_nlink != 1)
    return error_in_words("open " + path + ": the file has another name, too");
  if (::fchmod(file.get(), kFileMode) != 0) return last_error("set the mode of " + path);
  return file;
}

}  // namespace

Result<void> check_owned(int fd, const std::string& path) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return last_error("look at " + path);
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return error_in_words("use " + path + ": others than its owner may write to it");
  return {};
}

std::string to_text(const SeenText& seen) {
  std::string text = std::string(kTitle) + "\ngeneration " + std::to_string(seen.generation) + "\n";
  for (const auto& [name, ioc] : seen.iocs) {
    const std::string detail = !ioc.exit ? "-" : ioc.exit->status + ioc.exit->signal;
    text += name + '\t' + std::to_string(ioc.user) + '\t' + std::to_string(ioc.longest_run) + '\t' +
            std::to_string(static_cast<std::uint64_t>(std::ceil(ioc.gone))) + '\t' +
            std::to_string(ioc.last_seen) + '\t' + (ioc.exit ? ioc.exit->reason : "-") + '\t' +
            detail + '\n';
  }
  return text + end_of(text);
}

Result<SeenText> seen_from_text(std::string_view text) {
  std::string_view rest = text;
  if (take(rest, '\n') != kTitle)
    return error_in_words("line 1: not \"" + std::string(kTitle) + "\"");
  SeenText seen;
  std::string_view line = take(rest, '\n');
  if (!line.starts_with("generation ") || !read_number(line.substr(11), seen.generation))
    return error_in_words("line 2: no generation");
  for (std::size_t number = 3; !rest.empty(); ++number) {
    const std::string_view before = text.substr(0, text.size() - rest.size());
    line = take(rest, '\n');
    if (line.starts_with("end ")) {
      if (std::string(line) + "\n" != end_of(before))
        return error_in_words("line " + std::to_string(number) + ": the sum is another one");
      return seen;
    }
    if (!read_line(line, seen.iocs))
      return error_in_words("line " + std::to_string(number) + ": no seen IOC");
  }
  return error_in_words("it ends too early");
}

Result<SeenFile> SeenFile::open(const std::string& folder) {
  if (::mkdir(folder.c_str(), kFolderMode) != 0 && errno != EEXIST)
    return last_error("make folder " + folder);
  const UniqueFd opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened) return last_error("open folder " + folder);
  if (auto ok = check_owned(opened.get(), folder); !ok) return ok.error();
  SeenFile file;
  file.folder_ = folder;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    auto one = open_file(opened.get(), folder + "/" + kNames[i], kNames[i]);
    if (!one) return std::move(one).error();
    file.files_[i] = std::move(*one);
  }
  if (::flock(file.files_.front().get(), LOCK_EX | LOCK_NB) != 0)
    return errno == EWOULDBLOCK
               ? error_from_errno(EBUSY, "use " + folder + ": another exporter does")
               : last_error("lock " + folder);
  return file;
}

SeenText SeenFile::read(const std::string& folder, std::string& problem) {
  SeenText latest;
  for (const char* const name : kNames) {
    const std::string path = folder + "/" + name;
    const auto text = RootedFs().read_regular(path, kLargest);
    if (!text && text.error().code != std::errc::no_such_file_or_directory)
      problem = text.error().message();
    if (!text || text->empty()) continue;
    auto seen = seen_from_text(*text);
    if (!seen)
      problem = "read " + path + ": " + seen.error().message();
    else if (seen->generation > latest.generation)
      latest = std::move(*seen);
  }
  return latest;
}

Result<void> SeenFile::write(const SeenText& seen) {
  const std::size_t which = seen.generation % kNames.size();
  const int file = files_[which].get();
  const std::string action = "write " + folder_ + "/" + kNames[which];
  const std::string text = to_text(seen);
  if (::lseek(file, 0, SEEK_SET) != 0) return last_error(action);
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t more = ::write(file, text.data() + done, text.size() - done);
    if (more < 0 && errno != EINTR) return last_error(action);
    if (more > 0) done += static_cast<std::size_t>(more);
  }
  if (::ftruncate(file, static_cast<off_t>(text.size())) != 0) return last_error(action);
  if (::fdatasync(file) != 0) return last_error(action);
  return {};
}

}  // namespace ioc_exporter::iocs
