#include "elf/elf_symbols.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/rooted_fs.h"
#include "base/unique_fd.h"
#include "support/value_of.h"

namespace ioc_exporter::elf {
namespace {

const std::vector<std::string> kWanted{"dbProcess", "pdbbase",   "printf",
                                       "prctl",     "nPeriodic", "scanList"};

std::string content_of(const std::string& path) {
  return value_of(RootedFs().read(path));
}

Result<ElfSymbols> read_file(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return ElfSymbols::read(fd.get(), path, kWanted);
}

Result<ElfSymbols> read_bytes(const std::string& bytes) {
  const UniqueFd fd(::memfd_create("elf", MFD_CLOEXEC));
  EXPECT_EQ(::write(fd.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  return ElfSymbols::read(fd.get(), "memory", kWanted);
}

TEST(ElfSymbols, FileOffsetHoldsTheFunctionThatRuns) {
  const auto elf = value_of(read_file(TARGET_LIB));
  const ElfSymbol* process = elf.find("dbProcess");
  ASSERT_NE(process, nullptr);
  ASSERT_TRUE(process->file_offset);
  // The dynamic linker's own answers, to compare with.
  void* const library = ::dlopen(TARGET_LIB, RTLD_NOW);
  ASSERT_NE(library, nullptr);
  void* const code = ::dlsym(library, "dbProcess");
  const std::string bytes = content_of(TARGET_LIB);
  ASSERT_LT(*process->file_offset + 8, bytes.size());
  EXPECT_EQ(std::memcmp(code, bytes.data() + *process->file_offset, 8), 0);
  Dl_info info;
  ASSERT_NE(::dladdr(code, &info), 0);
  const auto bias = reinterpret_cast<std::uintptr_t>(info.dli_fbase);
  EXPECT_EQ(bias + process->value, reinterpret_cast<std::uintptr_t>(code));
  EXPECT_EQ(bias + elf.find("pdbbase")->value,
            reinterpret_cast<std::uintptr_t>(::dlsym(library, "pdbbase")));
  EXPECT_FALSE(elf.find("pdbbase")->file_offset) << "it is in .bss";
  ::dlclose(library);
}

TEST(ElfSymbols, ImportsDoNotCount) {
  const auto elf = value_of(read_file(TARGET_PLAIN));
  EXPECT_EQ(elf.find("dbProcess"), nullptr);
  EXPECT_EQ(elf.find("prctl"), nullptr) << "imported from libc";
  EXPECT_TRUE(elf.uses("prctl"));
  EXPECT_FALSE(elf.uses("dbProcess"));
  EXPECT_TRUE(value_of(ElfSymbols::unpacked(elf.packed())).uses("prctl"));
  EXPECT_TRUE(value_of(read_file(TARGET_LIB)).uses("dbProcess")) << "it defines it";
  EXPECT_FALSE(elf.stripped());
}

TEST(ElfSymbols, ExecutableHasThemInSymtabUnlessStripped) {
  const auto full = read_file(TARGET_IOC);
  const auto stripped = read_file(TARGET_STRIPPED);
  ASSERT_TRUE(full);
  ASSERT_TRUE(stripped);
  EXPECT_NE(full->find("dbProcess"), nullptr);
  EXPECT_FALSE(full->stripped());
  EXPECT_EQ(stripped->find("dbProcess"), nullptr);
  ASSERT_NE(full->find("nPeriodic"), nullptr) << "local to its source file";
  EXPECT_EQ(full->find("nPeriodic")->size, sizeof(int));
  ASSERT_NE(full->find("scanList"), nullptr);
  EXPECT_GT(full->find("scanList")->size, 0u);
  EXPECT_TRUE(stripped->stripped());
}

TEST(ElfSymbols, LoadBiasThroughTheExecutableSegment) {
  const auto elf = value_of(read_file(TARGET_LIB));
  for (const LoadSegment& segment : elf.segments()) {
    if (!segment.executable) continue;
    const std::uint64_t page = segment.offset - segment.offset % 4096;
    EXPECT_EQ(elf.load_bias(0x7f0000000000 + page, page),
              0x7f0000000000 + segment.offset - segment.address);
    EXPECT_FALSE(elf.load_bias(0x1000, segment.offset + segment.file_size + 4096));
  }
  EXPECT_FALSE(elf.load_bias(0x1000, ~0ull - 4095));
}

TEST(ElfSymbols, ForeignFilesAreErrorsInWords) {
  EXPECT_NE(read_bytes("").error().message().find("not an ELF file"), std::string::npos);
  EXPECT_THAT(read_bytes("#!/bin/sh\n").error().message(),
              testing::HasSubstr("memory: not an ELF"));
  std::string other = content_of(TARGET_LIB);
  other[EI_CLASS] = ELFCLASS32;
  EXPECT_THAT(read_bytes(other).error().message(), testing::HasSubstr(": 32-bit"));
  other[EI_CLASS] = ELFCLASSNONE;
  EXPECT_THAT(read_bytes(other).error().message(), testing::HasSubstr("another kind of processor"));
}

TEST(ElfSymbols, CutFilesNeverCrash) {
  const std::string whole = content_of(TARGET_LIB);
  for (std::size_t size = 0; size < whole.size(); size += 97) {
    const auto elf = read_bytes(whole.substr(0, size));
    EXPECT_TRUE(!elf || elf->find("dbProcess") == nullptr || size > 1000) << size;
  }
}

TEST(ElfSymbols, DamagedFilesNeverCrash) {
  const std::string whole = content_of(TARGET_IOC);
  std::uint32_t random = 12345;
  const auto next = [&] { return random = random * 1664525u + 1013904223u; };
  std::size_t refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = whole;
    // The headers at both ends are where the lengths stand.
    const std::size_t headers = 1500;
    for (int i = 0; i < 4; ++i) {
      const std::size_t at = next() % headers;
      const bool end = next() % 2 == 0;
      bytes[end ? bytes.size() - 1 - at : at] = static_cast<char>(next() >> 16);
    }
    if (!read_bytes(bytes)) ++refused;
  }
  EXPECT_GT(refused, 100u);
}

// A few KiB on disk that would take a GiB of memory.
TEST(ElfSymbols, ManyTablesInOneHoleAreRefused) {
  constexpr std::uint64_t kHole = 16u << 20;
  constexpr std::size_t kTables = 64;
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  Elf64_Ehdr own;  // the machine is this test's
  const UniqueFd self(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(::pread(self.get(), &own, sizeof own, 0), static_cast<ssize_t>(sizeof own));
  header.e_machine = own.e_machine;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof header;
  header.e_shoff = sizeof header;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = kTables + 2;
  std::vector<Elf64_Shdr> sections(kTables + 2);
  for (std::size_t i = 1; i < sections.size(); ++i) {
    Elf64_Shdr& section = sections[i];
    section.sh_type = i == 1 ? SHT_STRTAB : SHT_SYMTAB;
    section.sh_link = 1;
    section.sh_offset = 65536;
    section.sh_size = i == 1 ? 64 : kHole / sizeof(Elf64_Sym) * sizeof(Elf64_Sym);
    section.sh_entsize = i == 1 ? 0 : sizeof(Elf64_Sym);
    section.sh_addralign = 8;
  }
  const UniqueFd fd(::memfd_create("elf", MFD_CLOEXEC));
  ASSERT_EQ(::pwrite(fd.get(), &header, sizeof header, 0), static_cast<ssize_t>(sizeof header));
  const auto size = static_cast<ssize_t>(sections.size() * sizeof(Elf64_Shdr));
  ASSERT_EQ(
      ::pwrite(fd.get(), sections.data(), sections.size() * sizeof(Elf64_Shdr), sizeof header),
      size);
  ASSERT_EQ(::ftruncate(fd.get(), 65536 + kHole), 0);
  EXPECT_EQ(error_of(ElfSymbols::read(fd.get(), "memory", kWanted)),
            "read symbols of memory: damaged symbol table, or reading it takes too long");
}

}  // namespace
}  // namespace ioc_exporter::elf
