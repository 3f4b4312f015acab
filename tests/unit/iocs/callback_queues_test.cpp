#include "iocs/memory/variables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "database_image.h"
#include "iocs/memory/base_layout.h"
#include "variables_image.h"

namespace ioc_exporter::iocs {
namespace {

using testing::HasSubstr;

layout::Ring ring(std::int32_t push, std::int32_t pop, std::int32_t size, std::int32_t high = 0) {
  return {0, push, pop, size, high, 0};
}

class CallbackQueues : public testing::Test {
 protected:
  CallbackQueues() : memory_(own_memory()) {}

  // As Base since 3.15 has them; `size` bytes each.
  void make(std::uint64_t size) {
    std::memset(queues_.data(), 0, queues_.size());
    for (std::size_t i = 0; i < 3; ++i) {
      layout::CallbackQueue queue{};
      queue.ring = address_of(&rings_[i]);
      queue.overflows = static_cast<std::int32_t>(11 * i);
      std::memcpy(queues_.data() + i * size, &queue, sizeof queue);
    }
    image_.add("callbackQueue", queues_, 3 * size);
    image_.add("onceQ", once_);
    image_.add("onceQueueSize", once_size_);
    if (size != layout::kCallbackQueue3_15) image_.add("onceQOverruns", overruns_);
  }

  std::vector<QueueSample> read() {
    auto queues = read_callback_queues(*memory_, image_.places());
    EXPECT_TRUE(queues) << queues.error().message();
    return queues ? *queues : std::vector<QueueSample>();
  }
  std::string failure() {
    auto queues = read_callback_queues(*memory_, image_.places());
    return queues ? "no error" : queues.error().message();
  }

  std::unique_ptr<ProcMemory> memory_;
  VariablesImage image_;
  std::array<layout::Ring, 3> rings_{ring(0, 0, 2001), ring(7, 2, 2001, 9),
                                     ring(3, 1999, 2001, 2000)};
  layout::Ring once_ring_ = ring(24 * 5, 24 * 3, 24 * 1000 + 16, 24 * 17);
  std::uint64_t once_ = address_of(&once_ring_);
  std::int32_t once_size_ = 1000;
  std::int32_t overruns_ = 23;
  alignas(8) std::array<std::byte, 3 * 64> queues_{};
};

TEST_F(CallbackQueues, OfBase7) {
  for (const std::uint64_t size : {layout::kCallbackQueue7_0, layout::kCallbackQueue7_0_8}) {
    image_ = {};
    make(size);
    const auto queues = read();
    ASSERT_EQ(queues.size(), 4u);
    EXPECT_EQ(queues[0].queue, "low");
    EXPECT_EQ(queues[0].length, 0u);
    EXPECT_EQ(queues[0].capacity, 2000u);
    EXPECT_EQ(queues[0].high_water_mark, 0u);
    EXPECT_EQ(queues[0].overflows, 0u);
    EXPECT_EQ(queues[1].queue, "medium");
    EXPECT_EQ(queues[1].length, 5u);
    EXPECT_EQ(queues[1].high_water_mark, 9u);
    EXPECT_EQ(queues[1].overflows, 11u);
    EXPECT_EQ(queues[2].queue, "high");
    EXPECT_EQ(queues[2].length, 5u) << "around the end of the ring";
    EXPECT_EQ(queues[2].overflows, 22u);
    EXPECT_EQ(queues[3].queue, "once");
    EXPECT_EQ(queues[3].length, 2u);
    EXPECT_EQ(queues[3].capacity, 1000u);
    EXPECT_EQ(queues[3].high_water_mark, 17u);
    EXPECT_EQ(queues[3].overflows, 23u);
  }
}

TEST_F(CallbackQueues, Of3_15CountNoOverflows) {
  make(layout::kCallbackQueue3_15);
  for (layout::Ring& any : rings_) any.high_water_mark = -77;  // padding
  once_ring_ = ring(4, 1, 1001, -1);
  const auto queues = read();
  ASSERT_EQ(queues.size(), 4u);
  EXPECT_EQ(queues[1].length, 5u);
  EXPECT_EQ(queues[1].high_water_mark, std::nullopt);
  EXPECT_EQ(queues[1].overflows, std::nullopt);
  EXPECT_EQ(queues[3].length, 3u);
  EXPECT_EQ(queues[3].capacity, 1000u);
}

TEST_F(CallbackQueues, Of3_16_1HaveEntriesInTheOnceQueue) {
  make(layout::kCallbackQueue3_15);
  const auto queues = read();
  ASSERT_EQ(queues.size(), 4u);
  EXPECT_EQ(queues[3].length, 2u);
  EXPECT_EQ(queues[3].capacity, 1000u);
  once_size_ = 999;
  EXPECT_EQ(failure(), "queue once: 24016 units for 999 elements");
}

TEST_F(CallbackQueues, Of3_14HaveNoLocks) {
  const std::array<layout::RingPointer3_14, 4> rings{
      {{0, 0, 2001, 0, 0}, {7, 2, 2001, 0, 0}, {1, 2000, 2001, 0, 0}, {3, 0, 1001, 0, 0}}};
  const std::array<std::uint64_t, 3> callbacks{address_of(&rings[0]), address_of(&rings[1]),
                                               address_of(&rings[2])};
  once_ = address_of(&rings[3]);
  image_.add("callbackQ", callbacks);
  image_.add("onceQ", once_);
  const auto queues = read();
  ASSERT_EQ(queues.size(), 4u);
  EXPECT_EQ(queues[1].length, 5u);
  EXPECT_EQ(queues[2].length, 2u);
  EXPECT_EQ(queues[2].overflows, std::nullopt);
  EXPECT_EQ(queues[3].length, 3u);
  EXPECT_EQ(queues[3].capacity, 1000u);
}

TEST_F(CallbackQueues, NoneBeforeIocInit) {
  make(layout::kCallbackQueue7_0);
  once_ = 0;
  EXPECT_TRUE(read().empty());
  std::memset(queues_.data(), 0, queues_.size());
  EXPECT_TRUE(read().empty());
}

TEST_F(CallbackQueues, WhatMakesNoSenseIsAnErrorInWords) {
  EXPECT_EQ(failure(), "no symbol callbackQueue was found");
  make(layout::kCallbackQueue7_0);
  const auto with = [this](const layout::Ring& broken) {
    rings_[1] = broken;
    return failure();
  };
  EXPECT_EQ(with(ring(7, 2, 1)), "queue medium: elements 2 to 7 of 1");
  EXPECT_THAT(with(ring(-1, 2, 2001)), HasSubstr("queue medium"));
  EXPECT_THAT(with(ring(0, 2001, 2001)), HasSubstr("queue medium"));
  EXPECT_THAT(with(ring(0, 0, -5)), HasSubstr("queue medium"));
  EXPECT_THAT(with(ring(0, 0, INT32_MIN)), HasSubstr("queue medium"));
  EXPECT_THAT(with(ring(0, 0, 2001, 2001)), HasSubstr("queue medium")) << "the high-water mark";
  rings_[1] = ring(0, 0, 2001);
  once_ring_ = ring(0, 0, 1001);
  EXPECT_THAT(failure(), HasSubstr("queue once"));
  once_ = 3;
  EXPECT_EQ(failure(), "a queue is at 0x3");
  image_ = {};
  make(56);
  EXPECT_EQ(failure(), "callbackQueue has 168 bytes: no layout that is known");
}

}  // namespace
}  // namespace ioc_exporter::iocs
