// StoreSink: puts in the store, some hundred with each transaction.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <utility>

#include "putlog/sink.h"
#include "putlog/store.h"

namespace ioc_exporter::putlog {

class StoreSink : public Sink {
 public:
  // The store is there when the first put comes.
  using Find = std::function<std::shared_ptr<Store>()>;
  explicit StoreSink(Find find) : find_(std::move(find)) {}

  Delivered deliver(std::span<const Entry> entries) override {
    const auto store = find_();
    if (!store) return {0, error_in_words("the store is not open")};
    const auto some = entries.first(std::min(entries.size(), kAtOnce));
    if (auto added = store->add(some); !added) return {0, added.error()};
    if (auto trimmed = store->trim(std::chrono::system_clock::now()); !trimmed)
      return {some.size(), trimmed.error()};
    return {some.size()};
  }
  Result<void> tend() override {
    const auto store = find_();
    return store ? store->trim(std::chrono::system_clock::now()) : Result<void>();
  }

 private:
  static constexpr std::size_t kAtOnce = 512;

  const Find find_;
};

}  // namespace ioc_exporter::putlog
