// EndDeadline: until when the deliveries of one thread may take once the exporter ends. Another
// thread sets it, also while a delivery is under way.
#pragma once

#include <atomic>
#include <chrono>

namespace ioc_exporter::delivery {

class EndDeadline {
 public:
  using Time = std::chrono::steady_clock::time_point;

  void set(Time at) { at_ = at; }
  Time at() const { return at_; }  // Time::max(): it does not end

  // It must outlive the calling thread, or what that delivers.
  void use_in_this_thread() const { of_thread_ = this; }
  // Time::max() also where none is used.
  static Time of_this_thread() { return of_thread_ == nullptr ? Time::max() : of_thread_->at(); }

 private:
  std::atomic<Time> at_{Time::max()};
  inline static thread_local const EndDeadline* of_thread_ = nullptr;
};

}  // namespace ioc_exporter::delivery
