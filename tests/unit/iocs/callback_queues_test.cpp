#include "iocs/memory/variables.h"

#include <gmock/gmock.h>

#include <array>
#include <cstring>

#include "database_image.h"
#include "iocs/memory/base_layout.h"
#include "support/value_of.h"
#include "variables_image.h"

namespace ioc_exporter::iocs {
namespace {

using testing::_;
using testing::ElementsAre;
using testing::Eq;
using testing::FieldsAre;
using testing::HasSubstr;
using testing::Optional;

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
    return value_of(read_callback_queues(*memory_, image_.places()));
  }
  std::string failure() { return error_of(read_callback_queues(*memory_, image_.places())); }

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

TEST_F(CallbackQueues, ReadsTheQueuesOfBase7) {
  for (const std::uint64_t size : {layout::kCallbackQueue7_0, layout::kCallbackQueue7_0_8}) {
    image_ = {};
    make(size);
    // The third goes around the end of its ring.
    EXPECT_THAT(read(), ElementsAre(FieldsAre("low", 0u, 2000u, Optional(0u), Optional(0u)),
                                    FieldsAre("medium", 5u, 2000u, Optional(9u), Optional(11u)),
                                    FieldsAre("high", 5u, 2000u, Optional(2000u), Optional(22u)),
                                    FieldsAre("once", 2u, 1000u, Optional(17u), Optional(23u))));
  }
}

TEST_F(CallbackQueues, Of3_15CountNoOverflows) {
  make(layout::kCallbackQueue3_15);
  for (layout::Ring& any : rings_) any.high_water_mark = -77;  // padding
  once_ring_ = ring(4, 1, 1001, -1);
  EXPECT_THAT(read(),
              ElementsAre(_, FieldsAre("medium", 5u, 2000u, Eq(std::nullopt), Eq(std::nullopt)), _,
                          FieldsAre("once", 3u, 1000u, _, _)));
}

TEST_F(CallbackQueues, Of3_16_1HaveEntriesInTheOnceQueue) {
  make(layout::kCallbackQueue3_15);
  EXPECT_THAT(read(), ElementsAre(_, _, _, FieldsAre("once", 2u, 1000u, _, _)));
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
  EXPECT_THAT(read(),
              ElementsAre(_, FieldsAre(_, 5u, _, _, _), FieldsAre(_, 2u, _, _, Eq(std::nullopt)),
                          FieldsAre(_, 3u, 1000u, _, _)));
}

TEST_F(CallbackQueues, NoneBeforeIocInit) {
  make(layout::kCallbackQueue7_0);
  once_ = 0;
  EXPECT_TRUE(read().empty());
  std::memset(queues_.data(), 0, queues_.size());
  EXPECT_TRUE(read().empty());
}

TEST_F(CallbackQueues, ImpossibleValuesAreErrorsInWords) {
  EXPECT_EQ(failure(), "no symbol callbackQueue was found");
  make(layout::kCallbackQueue7_0);
  const auto with = [this](const layout::Ring& broken) {
    rings_[1] = broken;
    return failure();
  };
  EXPECT_EQ(with(ring(7, 2, 1)), "queue medium: elements 2 to 7 of 1");
  for (const auto& bad : {ring(-1, 2, 2001), ring(0, 2001, 2001), ring(0, 0, -5),
                          ring(0, 0, INT32_MIN), ring(0, 0, 2001, 2001)})
    EXPECT_THAT(with(bad), HasSubstr("queue medium"));
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
