#include "iocs/memory/memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace ioc_exporter::iocs {
namespace {

// Memory of 4 KiB pages, some of which are not there. Each byte tells its address.
class PagedMemory : public Memory {
 public:
  explicit PagedMemory(std::vector<bool> mapped) : mapped_(std::move(mapped)) {}

  Result<std::size_t> read_some(std::uint64_t address, std::span<std::byte> into) override {
    ++reads;
    std::size_t size = 0;
    for (; size < into.size() && is_mapped(address + size); ++size) into[size] = at(address + size);
    if (size == 0) return error_in_words("not mapped");
    return size;
  }
  static std::byte at(std::uint64_t address) {
    return static_cast<std::byte>(address * 31 + address / 4096);
  }

  int reads = 0;

 private:
  bool is_mapped(std::uint64_t address) const {
    return address / 4096 < mapped_.size() && mapped_[address / 4096];
  }
  std::vector<bool> mapped_;
};

void expect_bytes(Memory& memory, std::uint64_t address, std::size_t size) {
  std::vector<std::byte> bytes(size);
  const auto done = memory.read(address, bytes);
  ASSERT_TRUE(done) << address << ": " << done.error().message();
  for (std::size_t i = 0; i < size; ++i)
    ASSERT_EQ(bytes[i], PagedMemory::at(address + i)) << address + i;
}

TEST(CachedMemory, ReadsABlockOnce) {
  PagedMemory memory(std::vector<bool>(64, true));
  CachedMemory cache(memory);
  for (std::uint64_t address = 0; address + 8 <= CachedMemory::kBlock; address += 8)
    expect_bytes(cache, address, 8);
  EXPECT_EQ(memory.reads, 1);
  expect_bytes(cache, CachedMemory::kBlock - 3, 6);
  EXPECT_EQ(memory.reads, 2);
  expect_bytes(cache, 0, 64 * 4096);
}

TEST(CachedMemory, HolesOfAnyShape) {
  for (unsigned shape = 0; shape < 256; ++shape) {
    std::vector<bool> mapped;
    for (unsigned page = 0; page < 8; ++page) mapped.push_back((shape >> page & 1u) != 0);
    PagedMemory memory(mapped);
    CachedMemory cache(memory);
    for (const unsigned step : {1u, 3u, 5u, 7u}) {
      for (unsigned i = 0; i < 8; ++i) {
        const unsigned page = i * step % 8;
        std::byte byte;
        const bool read = cache.read(page * 4096u + 4095u, std::span(&byte, 1)).ok();
        ASSERT_EQ(read, mapped[page]) << shape << " " << page;
        if (read) expect_bytes(cache, page * 4096u, 4096);
        if (!read || page == 7) continue;
        ASSERT_EQ(cache.value<std::uint64_t>(page * 4096u + 4092u).ok(), mapped[page + 1]);
      }
    }
  }
}

TEST(CachedMemory, AddressesThatShareASlot) {
  constexpr std::uint64_t kFar = CachedMemory::kBlock * CachedMemory::kSlots;
  PagedMemory memory(std::vector<bool>(3 * kFar / 4096, true));
  CachedMemory cache(memory);
  for (int round = 0; round < 3; ++round)
    for (std::uint64_t far = 0; far < 3; ++far) expect_bytes(cache, far * kFar + 100, 16);
}

}  // namespace
}  // namespace ioc_exporter::iocs
