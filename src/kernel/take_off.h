// Ends many attachments at the same time: the kernel makes who takes a uprobe off wait until no CPU
// can be in it, some tens of milliseconds each. Links of uprobes wait together then
// (uprobe_link.h); those of one perf event each wait in turn all the same. 20 of one file took 0.08
// s and 1.6 s (Linux 6.18).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

namespace ioc_exporter::kernel {

inline constexpr std::size_t kMostTakingOff = 64;  // threads

template <class Attachment>
void take_off_together(std::vector<Attachment> all) {
  std::atomic<std::size_t> next{0};
  const auto work = [&all, &next] {
    for (std::size_t i = next++; i < all.size(); i = next++)
      const Attachment gone(std::move(all[i]));
  };
  std::vector<std::jthread> helpers;
  try {
    while (helpers.size() + 1 < std::min(all.size(), kMostTakingOff)) helpers.emplace_back(work);
  } catch (const std::exception&) {  // no more threads: then with those that there are
  }
  work();
}

}  // namespace ioc_exporter::kernel
