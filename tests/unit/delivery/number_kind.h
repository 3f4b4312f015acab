// Numbers as what sinks are given: odd ones only.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "delivery/sink.h"

namespace ioc_exporter::delivery {

struct NumberKind {
  using Item = std::shared_ptr<const int>;
  using Entry = Item;
  struct Filter {
    bool wants(int number) const { return number % 2 == 1; }
  };
  struct Stage {  // nothing waits
    using Time = std::chrono::steady_clock::time_point;
    explicit Stage(std::chrono::milliseconds) {}
    void take(Item item, Time, std::vector<Item>& out) { out.push_back(std::move(item)); }
    void end_due(Time, std::vector<Item>&) {}
    void end_all(std::vector<Item>&) {}
    std::optional<Time> next_due() const { return {}; }
  };
  static std::size_t bytes(int) { return 100; }
  static std::string_view owner(int) { return "one"; }
  static bool is_urgent(int number) { return number < 0; }
  static std::uint64_t weight(const Item&) { return 1; }
  static constexpr const char* kLog = "numbers";
  static constexpr const char* kItems = "numbers";
};

using Answering = std::function<Delivered(std::span<const NumberKind::Entry>)>;

class Answers : public Sink<NumberKind::Entry> {
 public:
  explicit Answers(Answering answer) : answer_(std::move(answer)) {}
  Delivered deliver(std::span<const NumberKind::Entry> entries) override {
    return answer_(entries);
  }

 private:
  const Answering answer_;
};

inline SinkSetup<NumberKind> setup_of(Answering answer) {
  SinkSetup<NumberKind> setup;
  setup.name = "test";
  setup.sink = std::make_unique<Answers>(std::move(answer));
  return setup;
}

inline std::vector<NumberKind::Item> numbers(int from, int to) {
  std::vector<NumberKind::Item> items;
  for (int i = from; i <= to; ++i) items.push_back(std::make_shared<const int>(i));
  return items;
}

}  // namespace ioc_exporter::delivery
