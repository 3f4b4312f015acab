#include "base/state_files.h"

#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <utility>

#include "base/log.h"
#include "base/owned_file.h"
#include "base/rooted_fs.h"

namespace ioc_exporter {
namespace {

// With a disk that hangs: at the start, at each writing, at the end.
constexpr std::chrono::milliseconds kOpenPatience{2500}, kWritePatience{5000}, kEndPatience{1000};
constexpr int kLockTries = 20;
constexpr useconds_t kLockPause = 50'000;  // us

enum Request : std::uint32_t {
  kNothing,
  kOpenFiles,
  kReadFiles,
  kWriteFile
};  // HelperRequest::what

std::function<Result<void>()>& confinement() {
  static std::function<Result<void>()> confine;
  return confine;
}

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
  // One that has just ended may still be writing.
  for (int tries = 1; ::flock(files.files_.front().get(), LOCK_EX | LOCK_NB) != 0; ++tries) {
    if (errno != EWOULDBLOCK) return last_error("lock " + folder);
    if (tries == kLockTries)
      return error_from_errno(EBUSY, "use " + folder + ": another exporter does");
    ::usleep(kLockPause);
  }
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

void StateKeeper::set_confinement(std::function<Result<void>()> confine) {
  confinement() = std::move(confine);
}

std::vector<StateFiles::Text> StateKeeper::open_files(const std::string& folder,
                                                      const StateFiles::Names& names,
                                                      std::size_t largest, std::string& problem) {
  std::vector<StateFiles::Text> texts;
  if (folder.empty()) return texts;
  shared_ = make_shared_memory<Shared>();
  // The process' own are these.
  std::optional<StateFiles> files;
  const auto serve = [&, shared = shared_.get()](const HelperRequest& request,
                                                 const UniqueFd&) -> Result<UniqueFd> {
    const auto give = [shared](std::string_view text) {
      shared->size = text.copy(shared->text.data(), shared->text.size());
    };
    if (request.what == kOpenFiles) {
      auto opened = StateFiles::open(folder, names);
      if (!opened) return std::move(opened).error();
      files.emplace(std::move(*opened));
      texts = StateFiles::read(folder, names, largest, problem);
      if (const auto ok = confinement() ? confinement()() : Result<void>(); !ok) return ok.error();
      give(problem);
    } else if (request.what == kReadFiles && request.number < names.size()) {
      const auto text =
          std::ranges::find(texts, folder + "/" + names[request.number], &StateFiles::Text::path);
      give(text == texts.end() ? std::string_view() : text->text);
    } else if (request.what == kWriteFile && files) {
      const std::size_t size = std::min(shared->size, shared->text.size());
      if (auto ok = files->write(request.more[0], {shared->text.data(), size}); !ok)
        return ok.error();
    }
    return UniqueFd();
  };
  auto process = Helper::start({.name = "ioc_exp-state",
                                .confine = []() -> Result<void> {
                                  ::signal(SIGXFSZ, SIG_IGN);  // a limit of files is an error
                                  return {};
                                },
                                .serve = serve,
                                .keeps_files = false});
  const auto opened =
      process ? (*process)->ask({.what = kOpenFiles}, -1, kOpenPatience) : process.error();
  if (!opened) {
    ++sample_.open;
    problem_ = what_ + " do not outlive the exporter: " + opened.error().message();
    log::warn("{}", problem_);
    return {};
  }
  process_ = std::move(*process);
  const auto text = [this] { return std::string(shared_->text.data(), shared_->size); };
  problem = text();
  for (std::uint32_t number = 0; number < names.size(); ++number)
    if (process_->ask({.what = kReadFiles, .number = number}, -1, kOpenPatience) &&
        shared_->size > 0)
      texts.push_back({folder + "/" + names[number], text()});
  return texts;
}

void StateKeeper::note_read_problem(const std::string& problem) {
  if (problem.empty()) return;
  ++sample_.read;
  log::warn("{}: this file is ignored", problem);
}

bool StateKeeper::is_due(Clock::time_point now) {
  if (!process_ || !worker_.wait(std::chrono::milliseconds(0))) return false;
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

// Not while the process still takes the one before, which was given up.
Result<void> StateKeeper::put(std::string_view text, std::uint64_t generation,
                              std::chrono::milliseconds patience) {
  if (auto idle = process_->ask({.what = kNothing}, -1, patience); !idle) return idle.error();
  shared_->size = text.copy(shared_->text.data(), shared_->text.size());
  const auto written = process_->ask({.what = kWriteFile, .more = {generation}}, -1, patience);
  return written ? Result<void>() : written.error();
}

void StateKeeper::write(Encode encode) {
  writing_ = true;
  ++generation_;
  worker_.start([this, encode = std::move(encode), generation = generation_] {
    written_ = put(encode(generation), generation, kWritePatience);
  });
}

void StateKeeper::write_now(const Encode& encode) {
  if (!process_ || !worker_.wait(kEndPatience)) return;
  note_written();
  writing_ = true;
  ++generation_;
  written_ = put(encode(generation_), generation_, kEndPatience);
  note_written();
}

}  // namespace ioc_exporter
