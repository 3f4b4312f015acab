#include "base/state_files.h"

#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <utility>

#include "base/log.h"
#include "base/owned_file.h"
#include "base/rooted_fs.h"

namespace ioc_exporter {
namespace {

constexpr std::chrono::seconds kPatience{10};  // with a disk that hangs, at the end

}  // namespace

std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t sum = 14695981039346656037u;
  for (const char each : text) sum = (sum ^ static_cast<unsigned char>(each)) * 1099511628211u;
  return sum;
}

Result<StateFiles> StateFiles::open(const std::string& folder, const Names& names) {
  const auto opened = open_owned_folder(folder);
  if (!opened) return opened.error();
  StateFiles files;
  files.folder_ = folder;
  files.names_ = names;
  for (std::size_t i = 0; i < names.size(); ++i) {
    auto one = open_owned_file(opened->get(), folder + "/" + names[i], names[i]);
    if (!one) return std::move(one).error();
    files.files_[i] = std::move(*one);
  }
  if (::flock(files.files_.front().get(), LOCK_EX | LOCK_NB) != 0)
    return errno == EWOULDBLOCK
               ? error_from_errno(EBUSY, "use " + folder + ": another exporter does")
               : last_error("lock " + folder);
  return files;
}

std::vector<StateFiles::Text> StateFiles::read(const std::string& folder, const Names& names,
                                               std::size_t largest, std::string& problem) {
  std::vector<Text> all;
  for (const char* const name : names) {
    const std::string path = folder + "/" + name;
    auto text = RootedFs().read_regular(path, largest);
    if (!text && text.error().code != std::errc::no_such_file_or_directory)
      problem = text.error().message();
    if (text && !text->empty()) all.push_back({path, std::move(*text)});
  }
  return all;
}

Result<void> StateFiles::write(std::uint64_t generation, std::string_view text) {
  const std::size_t which = generation % files_.size();
  const int file = files_[which].get();
  const std::string action = "write " + folder_ + "/" + names_[which];
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

void StateKeeper::open_files(const std::string& folder, const StateFiles::Names& names) {
  if (folder.empty()) return;
  auto files = StateFiles::open(folder, names);
  if (files) {
    files_.emplace(std::move(*files));
    return;
  }
  ++sample_.open;
  problem_ = what_ + " do not outlive the exporter: " + files.error().message();
  log::warn("{}", problem_);
}

void StateKeeper::note_read_problem(const std::string& problem) {
  if (problem.empty()) return;
  ++sample_.read;
  log::warn("{}: this file is ignored", problem);
}

bool StateKeeper::is_due(Clock::time_point now) {
  if (!files_ || !worker_.wait(std::chrono::milliseconds(0))) return false;
  note_written();
  if (now < next_) return false;
  next_ = now + pause_;
  return true;
}

void StateKeeper::note_written() {
  if (!std::exchange(writing_, false)) return;
  trouble_.report("keep the " + what_, written_);
  problem_ = written_ ? "" : written_.error().message();
  if (written_) return;
  ++sample_.write;
  --generation_;  // the same file again: the other one is whole
}

void StateKeeper::write(Encode encode) {
  writing_ = true;
  ++generation_;
  worker_.start([this, encode = std::move(encode), generation = generation_] {
    written_ = files_->write(generation, encode(generation));
  });
}

void StateKeeper::write_now(const Encode& encode) {
  if (!files_ || !worker_.wait(kPatience)) return;
  note_written();
  writing_ = true;
  ++generation_;
  written_ = files_->write(generation_, encode(generation_));
  note_written();
}

}  // namespace ioc_exporter
