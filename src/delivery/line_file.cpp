#include "delivery/line_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <iterator>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/owned_file.h"
#include "base/value_text.h"

namespace ioc_exporter::delivery {
namespace {

constexpr std::size_t kOneWrite = 256u << 10, kLongestLine = 16u << 20;
constexpr std::string_view kBegin = "{\"time\":";  // of a line of ours

std::chrono::system_clock::time_point begin_of(int file) {
  const auto now = std::chrono::system_clock::now();
  struct statx status {};
  if (::statx(file, "", AT_EMPTY_PATH, STATX_BTIME, &status) != 0 ||
      (status.stx_mask & STATX_BTIME) == 0)
    return now;
  // A clock that was set back does not keep a file for years.
  return std::min(now, std::chrono::system_clock::from_time_t(status.stx_btime.tv_sec));
}

// Where the last line begins that has no end, and that line's first bytes; nothing: it is longer
// than any of ours.
struct HalfLine {
  std::uint64_t at = 0;
  std::string begin;
};
std::optional<HalfLine> find_half_line(int file, std::uint64_t size) {
  std::string tail(std::min<std::uint64_t>(size, kLongestLine), '\0');
  const std::uint64_t at = size - tail.size();
  if (::pread(file, tail.data(), tail.size(), static_cast<off_t>(at)) != std::ssize(tail))
    return std::nullopt;
  const std::size_t begin = tail.rfind('\n') + 1;  // 0: there is none
  if (begin == 0 && at > 0) return std::nullopt;
  return HalfLine{at + begin, tail.substr(begin, kBegin.size())};
}

Result<UniqueFd> open_in(int folder, const LogFile& file, const std::string& name) {
  auto opened = open_owned_file(folder, file.path, name.c_str(), O_APPEND);
  if (!opened) return opened;
  int locked = -1;
  for (int i = 0; i < 60 && (locked = ::flock(opened->get(), LOCK_EX | LOCK_NB)) != 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  if (locked == 0) return opened;
  return errno == EWOULDBLOCK
             ? error_from_errno(EBUSY, "use " + file.path + ": another exporter does")
             : last_error("lock " + file.path);
}

Result<void> move_on(int folder, const LogFile& file, const std::string& name) {
  if (file.count == 0) {
    if (::unlinkat(folder, name.c_str(), 0) != 0 && errno != ENOENT)
      return last_error("remove " + file.path);
    return {};
  }
  for (unsigned number = file.count; number > 0; --number) {
    const std::string from = number == 1 ? name : name + "." + std::to_string(number - 1);
    const std::string to = name + "." + std::to_string(number);
    if (::renameat(folder, from.c_str(), folder, to.c_str()) != 0 && errno != ENOENT)
      return last_error("rename " + file.path + " to " + to);
  }
  return {};
}

// One exporter has it at a time: after some seconds, in which one that was killed may end, it is
// busy. `rotate`: the file becomes the first of the older ones, of which the last goes; a new one
// is opened.
Result<UniqueFd> open_log(const LogFile& file, bool rotate) {
  const std::size_t slash = file.path.rfind('/');
  if (!file.path.starts_with('/') || slash + 1 == file.path.size())
    return error_in_words("open " + file.path + ": it is no absolute path of a file");
  const auto folder = open_owned_folder(file.path.substr(0, std::max<std::size_t>(1, slash)));
  if (!folder) return folder.error();
  const std::string name = file.path.substr(slash + 1);
  if (rotate)
    if (auto moved = move_on(folder->get(), file, name); !moved) return moved.error();
  return open_in(folder->get(), file, name);
}

}  // namespace

Result<void> check_log_path(const std::string& path) {
  if (path.empty() || (path.starts_with('/') && !path.ends_with('/'))) return {};
  return error_in_words(shown(path) + " is no absolute path of a file");
}

Result<void> LineFile::open() {
  return file_ ? Result<void>() : use(open_log(log_, false));
}

Result<void> LineFile::use(Result<UniqueFd> opened) {
  if (!opened) return std::move(opened).error();
  file_ = std::move(*opened);
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0) return last_error("look at " + log_.path);
  size_ = static_cast<std::uint64_t>(status.st_size);
  begun_ = begin_of(file_.get());
  auto mended = mend_end();
  if (!mended) file_.reset();
  return mended;
}

Result<void> LineFile::mend_end() {
  char last = '\n';
  if (size_ > 0 && ::pread(file_.get(), &last, 1, static_cast<off_t>(size_ - 1)) != 1)
    return last_error("read the end of " + log_.path);
  if (last == '\n') return {};
  const auto half = find_half_line(file_.get(), size_);
  // A half line that does not look like ours is not removed.
  if (half && kBegin.starts_with(half->begin)) {
    if (::ftruncate(file_.get(), static_cast<off_t>(half->at)) != 0)
      return last_error("cut half a line off " + log_.path);
    size_ = half->at;
    return {};
  }
  if (::write(file_.get(), "\n", 1) != 1) return last_error("end a line of " + log_.path);
  ++size_;
  return {};
}

bool LineFile::is_old() const {
  return bounds_.age.count() > 0 && std::chrono::system_clock::now() - begun_ >= bounds_.age;
}

// Somebody has removed it.
bool LineFile::is_gone() const {
  struct stat status {};
  return ::fstat(file_.get(), &status) != 0 || status.st_nlink == 0;
}

Result<void> LineFile::rotate_for(std::size_t more) {
  if (size_ == 0 || (size_ + more <= bounds_.size && !is_old())) return {};
  file_.reset();
  return use(open_log(log_, true));
}

Delivered LineFile::deliver(std::size_t lines, const AppendLine& append) {
  if (file_ && is_gone()) file_.reset();
  Delivered done;
  while (done.entries < lines && !done.problem) {
    if (auto opened = open(); !opened) {
      done.problem = opened.error();
      break;
    }
    Delivered more = write(done.entries, lines, append);
    done.entries += more.entries;
    done.problem = std::move(more.problem);
  }
  return done;
}

// One write of whole lines.
Delivered LineFile::write(std::size_t first, std::size_t end, const AppendLine& append) {
  std::string text;
  std::vector<std::size_t> ends;
  for (std::size_t line = first; line < end; ++line) {
    if (text.size() >= kOneWrite) break;
    append(text, line);
    text += '\n';
    // Lines that would make the file too large go into the next one.
    if (!ends.empty() && size_ + text.size() > bounds_.size) {
      text.resize(ends.back());
      break;
    }
    ends.push_back(text.size());
  }
  if (auto ready = rotate_for(text.size()); !ready) return {0, ready.error()};
  std::size_t written = 0;
  std::optional<Error> problem;
  while (written < text.size() && !problem) {
    const ssize_t more = ::write(file_.get(), text.data() + written, text.size() - written);
    if (more > 0)
      written += static_cast<std::size_t>(more);
    else if (errno != EINTR)
      problem = last_error("write " + log_.path);
  }
  const auto whole =
      static_cast<std::size_t>(std::ranges::upper_bound(ends, written) - ends.begin());
  size_ += whole == 0 ? 0 : ends[whole - 1];
  // The rest of a line is removed; if not now, when the file is opened again.
  if (problem && (::ftruncate(file_.get(), static_cast<off_t>(size_)) != 0)) file_.reset();
  return {whole, std::move(problem)};
}

}  // namespace ioc_exporter::delivery
