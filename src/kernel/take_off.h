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

inline constexpr std::size_t kMostTogether = 64;  // threads

// work(0) to work(count - 1), on as many threads.
template <class Work>
void run_together(std::size_t count, const Work& work) {
  std::atomic<std::size_t> next{0};
  const auto some = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::jthread> helpers;
  try {
    while (helpers.size() + 1 < std::min(count, kMostTogether)) helpers.emplace_back(some);
  } catch (const std::exception&) {  // no more threads: then with those that there are
  }
  some();
}

template <class Attachment>
void take_off_together(std::vector<Attachment> all) {
  run_together(all.size(), [&all](std::size_t i) { const Attachment gone(std::move(all[i])); });
}

}  // namespace ioc_exporter::kernel
