// Another process' memory: its map, reads, and reads that are kept.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "database_image.h"
#include "elf/maps.h"
#include "iocs/find/process_stat.h"
#include "iocs/memory/memory.h"
#include "support/value_of.h"

namespace ioc_exporter::iocs {
namespace {

TEST(Maps, OneLine) {
  EXPECT_THAT(
      value_of(elf::parse_mapping("7fce35000000-7fce35085000 r-xp 0001f000 fe:00 247026       "
                                  "              /opt/a b/lib x.so")),
      testing::FieldsAre(0x7fce35000000u, 0x7fce35085000u, 0x1f000u, true, "fe:00", 247026u,
                         "/opt/a b/lib x.so", false, testing::IsEmpty()));
}

TEST(Maps, DeletedEscapedAnonymousAndSpecial) {
  const auto deleted = elf::parse_mapping("1000-2000 r-xp 0 00:1f 7 /a\\012b (deleted)");
  ASSERT_TRUE(deleted);
  EXPECT_EQ(deleted->path, "/a\nb");
  EXPECT_TRUE(deleted->deleted);
  EXPECT_EQ(elf::parse_mapping("1000-2000 rw-p 00000000 00:00 0 ")->path, "");
  EXPECT_EQ(elf::parse_mapping("1000-2000 rw-p 00000000 00:00 0")->path, "");
  EXPECT_EQ(elf::parse_mapping("1000-2000 r-xp 00000000 00:00 0    [vdso]")->path, "[vdso]");
  for (const char* bad : {"", "1000", "1000-", "1000-2000", "1000-2000 r-x", "x-y r-xp 0 0:0 0",
                          "1000-2000 r-xp zz 00:00 0", "1000-2000 r-xp 0 00:00"})
    EXPECT_FALSE(elf::parse_mapping(bad)) << bad;
}

TEST(Maps, ModulesAreTheFirstExecutableMappingsOfFiles) {
  const auto modules = elf::executable_modules(
      "400000-401000 r--p 00000000 fe:00 1 /bin/ioc\n"
      "401000-402000 r-xp 00001000 fe:00 1 /bin/ioc\n"
      "403000-404000 r-xp 00003000 fe:00 1 /bin/ioc\n"
      "500000-501000 r-xp 00000000 00:00 0 \n"
      "600000-601000 r-xp 00000000 fe:00 2 /lib/a.so\n"
      "600000-601000 r-xp 00000000 fe:00 3 /lib/a.so (deleted)\n"
      "7ff000-800000 r-xp 00000000 00:00 0 [vdso]\n"
      "900000-901000 r-xp 00000000 fe:00 9 /cut");
  ASSERT_EQ(modules.size(), 4u);
  EXPECT_EQ(modules[0].start, 0x401000u);
  EXPECT_EQ(modules[1].path, "/lib/a.so");
  EXPECT_TRUE(modules[2].deleted);
  EXPECT_EQ(modules[3].path, "/cut");
}

TEST(ProcMemory, ReadsUpToTheEndOfTheMapping) {
  const auto memory = own_memory();
  ASSERT_NE(memory, nullptr);
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  auto* const pages = static_cast<char*>(
      ::mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  ASSERT_EQ(::munmap(pages + page, page), 0);
  std::memset(pages, 'x', page);
  const std::uint64_t end = DatabaseImage::address(pages) + page;
  std::byte bytes[32];
  EXPECT_EQ(value_of(memory->read_some(end - 8, bytes)), 8u);
  EXPECT_EQ(bytes[7], std::byte{'x'});
  EXPECT_TRUE(memory->read(end - 32, bytes));
  EXPECT_EQ(error_of(memory->read(end - 8, bytes)), "read memory at " + hex_address(end) +
                                                        " (pid " + std::to_string(::getpid()) +
                                                        "): not mapped");
  EXPECT_FALSE(memory->value<int>(0));
  EXPECT_FALSE(memory->value<int>(~0ull - 2));
  EXPECT_FALSE(memory->value<int>(1ull << 63));
  ::munmap(pages, page);
}

TEST(ProcMemory, AfterTheProcessEndedNothingIsRead) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) ::pause();
  }
  const RootedFs host("/");
  static const int value = 4711;
  const auto address = DatabaseImage::address(&value);
  const auto stat = value_of(iocs::read_process_stat(host, child));
  const auto memory = ProcMemory::open(host, stat.id);
  if (memory) {
    const auto alive = (*memory)->value<int>(address);
    EXPECT_TRUE(alive && *alive == 4711);
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ASSERT_TRUE(memory) << memory.error().message();
  EXPECT_THAT(error_of((*memory)->value<int>(address)),
              testing::HasSubstr("the process has ended"));
}

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
  must_succeed(memory.read(address, bytes));
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
