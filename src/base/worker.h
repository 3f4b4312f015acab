// Worker: a thread that does one job at a time for another thread, which need not wait for it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace ioc_exporter {

class Worker {
 public:
  Worker() = default;
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  // Waits for the job that is under way.
  ~Worker();

  // To be called while it is idle, by one thread. The thread is started with the first job, so that
  // it has what that thread has then.
  void start(std::function<void()> job);
  // True: it is idle now, and what the job wrote can be read.
  bool wait(std::chrono::milliseconds patience);

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> job_;  // none: idle
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace ioc_exporter
