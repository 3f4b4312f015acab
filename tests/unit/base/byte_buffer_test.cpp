#include "base/byte_buffer.h"

#include <gtest/gtest.h>

#include <string>

namespace ioc_exporter {
namespace {

TEST(ByteBuffer, HoldsAppendedText) {
  ByteBuffer buffer;
  EXPECT_TRUE(buffer.empty());
  std::string expected;
  for (int i = 0; i < 10'007; ++i) {
    const std::string text = std::to_string(i);
    buffer.append(text);
    buffer.push_back('\0');
    buffer.append("");
    expected.append(text).push_back('\0');
  }
  EXPECT_EQ(buffer.view(), expected);
  buffer.shrink_to_fit();
  EXPECT_EQ(buffer.view(), expected);
  buffer.append("end");
  EXPECT_EQ(buffer.view(), expected + "end");
}

TEST(ByteBuffer, RoomIsWrittenToAndTaken) {
  ByteBuffer buffer;
  buffer.append("a");
  char* at = buffer.room(1 << 20);
  at[0] = 'b';
  at[1] = 'c';
  buffer.set_end(at + 2);
  EXPECT_EQ(buffer.view(), "abc");
}

// Beyond what prefer_huge_pages() takes for large, in steps that do not end where a page does.
TEST(ByteBuffer, KeepsWhatItHoldsWhileItGrowsLarge) {
  constexpr std::size_t kStep = 100'003, kSteps = 211;
  ByteBuffer buffer;
  for (std::size_t i = 0; i < kSteps; ++i)
    buffer.append(std::string(kStep, static_cast<char>('a' + i % 23)));
  ASSERT_EQ(buffer.size(), kStep * kSteps);
  buffer.shrink_to_fit();
  for (std::size_t i = 0; i < kSteps; ++i)
    ASSERT_EQ(buffer.view().substr(i * kStep, kStep),
              std::string(kStep, static_cast<char>('a' + i % 23)));
}

TEST(ByteBuffer, InsertsAnywhere) {
  ByteBuffer buffer;
  buffer.insert(0, "middle");
  buffer.insert(0, "first ");
  buffer.insert(buffer.size(), " last");
  buffer.insert(6, "");
  EXPECT_EQ(buffer.view(), "first middle last");
}

TEST(ByteBuffer, IsEmptyAfterItWasMoved) {
  ByteBuffer one;
  one.append("bytes");
  ByteBuffer two = std::move(one);
  EXPECT_EQ(two.view(), "bytes");
  EXPECT_TRUE(one.empty());  // NOLINT(bugprone-use-after-move)
  one.append("again");
  one = std::move(two);
  EXPECT_EQ(one.view(), "bytes");
  auto& same = one;
  one = std::move(same);
  EXPECT_EQ(one.view(), "bytes");
}

}  // namespace
}  // namespace ioc_exporter
