#include "delivery/line_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>
#include <vector>

namespace ioc_exporter::delivery {
namespace {

constexpr std::size_t kOneWrite = 256u << 10;
constexpr std::size_t kPiece = 64u << 10, kLongestLine = 16u << 20;
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
  std::string bytes(kPiece, '\0');
  HalfLine half{size, ""};
  while (half.at > 0 && size - half.at <= kLongestLine) {
    const std::size_t piece = std::min<std::uint64_t>(kPiece, half.at);
    const auto got = ::pread(file, bytes.data(), piece, static_cast<off_t>(half.at - piece));
    if (got != static_cast<ssize_t>(piece)) return std::nullopt;
    const std::string_view read(bytes.data(), piece);
    const std::size_t end = read.rfind('\n');
    const std::size_t kept = end == std::string_view::npos ? 0 : end + 1;
    half.begin.insert(0, read.substr(kept, kBegin.size()));
    half.begin.resize(std::min(half.begin.size(), kBegin.size()));
    half.at -= piece - kept;
    if (end != std::string_view::npos || half.at == 0) return half;
  }
  return std::nullopt;
}

}  // namespace

Result<void> LineFile::open() {
  return file_ ? Result<void>() : use(open_log(log_));
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
