#include "traces/put_values.h"

#include <chrono>
#include <utility>

namespace ioc_exporter::traces {

void PutValues::look() {
  if (!log_) return;
  if (!follower_) follower_ = log_->follow_inside();
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

const putlog::PutEvent* PutValues::find(std::uint64_t time) const {
  const auto found = events_.find(time);
  return found == events_.end() ? nullptr : found->second.get();
}

}  // namespace ioc_exporter::traces
