#include "base/worker.h"

#include <utility>

namespace ioc_exporter {

Worker::~Worker() {
  {
    const std::scoped_lock lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Worker::start(std::function<void()> job) {
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  {
    const std::scoped_lock lock(mutex_);
    job_ = std::move(job);
  }
  changed_.notify_all();
}

bool Worker::wait(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, patience, [this] { return !job_; });
}

void Worker::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return job_ || ends_; });
    if (!job_) return;
    const auto job = job_;
    lock.unlock();
    job();
    lock.lock();
    job_ = nullptr;
    changed_.notify_all();
  }
}

}  // namespace ioc_exporter
