// PutValues: the put log's newest puts by the moment that the kernel saw them, for the traces that
// they began. Follows the log as other followers do: hidden values are hidden here.
//
// Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <utility>

#include "putlog/ring.h"

namespace ioc_exporter::traces {

class PutValues {
 public:
  static constexpr std::size_t kMost = 4096;

  // Null: there is no put log.
  explicit PutValues(std::shared_ptr<putlog::Ring> log) : log_(std::move(log)) {}

  bool is_known() const { return follower_ != nullptr; }
  bool is_logged() const { return log_ != nullptr; }
  // Notes the puts that were logged since the last call.
  void look() {
    if (!log_) return;
    if (!follower_) {
      putlog::EventFilter all;
      all.inside = true;
      follower_ = log_->follow_inside(std::move(all));
    }
    for (;;) {
      auto news = follower_->next(std::chrono::milliseconds(0));
      if (news.items.empty() && news.lost == 0) return;
      for (putlog::SharedEvent& event : news.items) {
        const std::uint64_t time = event->kernel_ns;
        if (events_.emplace(time, std::move(event)).second) order_.push_back(time);
      }
      for (; order_.size() > kMost; order_.pop_front()) events_.erase(order_.front());
    }
  }
  // `time`: CLOCK_MONOTONIC. Null: it is not logged, or not yet, or not any more.
  const putlog::PutEvent* find(std::uint64_t time) const {
    const auto found = events_.find(time);
    return found == events_.end() ? nullptr : found->second.get();
  }

 private:
  std::shared_ptr<putlog::Ring> log_;
  std::unique_ptr<putlog::Ring::Follower> follower_;  // null: not yet
  std::deque<std::uint64_t> order_;
  std::unordered_map<std::uint64_t, putlog::SharedEvent> events_;
};

}  // namespace ioc_exporter::traces
