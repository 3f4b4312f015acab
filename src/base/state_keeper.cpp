#include "base/state_keeper.h"

#include <chrono>

#include "base/log.h"

namespace ioc_exporter {
namespace {

constexpr std::chrono::seconds kPatience{10};  // with a disk that hangs, at the end

}  // namespace

void StateKeeper::open(const std::string& folder, const StateFiles::Names& names) {
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

bool StateKeeper::is_idle() {
  if (!worker_.wait(std::chrono::milliseconds(0))) return false;
  note_written();
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
  if (!files_) return;
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
