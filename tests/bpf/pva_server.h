// Objects of a PV Access server as QSRV has them, in this process, and functions that puts enter:
// the test is the IOC. As it would be built with a GCC's library of today, and with that of before
// C++11 (Old).
#pragma once

#include <link.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace ioc_exporter::test {

// Before C++11 a std::string was a pointer to what follows its length.
class OldString {
 public:
  OldString(const char* text) : OldString(std::string(text)) {}
  OldString(const std::string& text) {
    const std::uint64_t head[] = {text.size(), text.size(), 0};
    auto* const memory = new char[sizeof head + text.size() + 1];
    std::memcpy(memory, head, sizeof head);
    std::memcpy(memory + sizeof head, text.c_str(), text.size() + 1);
    memory_.reset(memory);
    text_ = memory + sizeof head;
  }
  OldString(OldString&& other) = delete;

  const char* text_;
  inline static std::vector<std::unique_ptr<char[]>> all;  // lives as long as the test
  struct Keeper {
    void reset(char* memory) { all.emplace_back(memory); }
  };
  [[no_unique_address]] Keeper memory_;
};
static_assert(sizeof(OldString) == 8 && sizeof(std::string) == 32);

inline std::vector<char> text_vector(const std::string& text) {
  return {text.c_str(), text.c_str() + text.size() + 1};
}

struct Credentials1 {
  std::vector<char> user, host;
};

template <class String>
struct SingleChannel {
  void* base[3] = {};  // vtables, and the mutex
  String name;
  void* pointers[10] = {&name, &name, &name, &name, &name, &name, &name, &name, &name, &name};
  Credentials1 credentials;
};

template <class String>
struct GroupChannel {
  void* base[3] = {};
  String name;
  void* pointers[10] = {&name, &name, &name, &name, &name, &name, &name, &name, &name, &name};
  std::vector<std::array<void*, 4>> members = {{&name, nullptr, nullptr, nullptr}};
  Credentials1 credentials;
};

struct Put {
  void* base[3] = {};
  const void* channel = nullptr;
};

template <class String>
struct Status {
  void* base = nullptr;
  std::int32_t type = 0;
  String message;
};

template <class String>
struct Credentials2 {
  String peer, interface, method, account;
};

template <class String>
struct Operation {
  void* base = nullptr;
  String name;
  const void* credentials = nullptr;
  void* control = nullptr;
  std::int32_t type = 3;
};

// Functions that puts enter; each in code of its own.
#define IOC_EXPORTER_ENTERED(NAME, ...)                                      \
  extern "C" [[gnu::noinline, gnu::noclone]] inline void NAME(__VA_ARGS__) { \
    asm volatile("# " #NAME ::: "memory");                                   \
  }
IOC_EXPORTER_ENTERED(pva_test_single_put, const void*)
IOC_EXPORTER_ENTERED(pva_test_group_put, const void*)
IOC_EXPORTER_ENTERED(pva_test_put_done, const void*, const void*, const void* const*)
IOC_EXPORTER_ENTERED(pva_test_on_put, const void*, const void* const*)
IOC_EXPORTER_ENTERED(pva_test_error, const void*, const void*)
#undef IOC_EXPORTER_ENTERED

// Where the code is in the file of this program.
inline std::uint64_t offset_of(const void* code) {
  struct Search {
    std::uint64_t address, offset;
  } search{reinterpret_cast<std::uint64_t>(code), 0};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        auto& wanted = *static_cast<Search*>(data);
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& segment = info->dlpi_phdr[i];
          const std::uint64_t start = info->dlpi_addr + segment.p_vaddr;
          if (segment.p_type == PT_LOAD && wanted.address - start < segment.p_filesz)
            wanted.offset = wanted.address - start + segment.p_offset;
        }
        return 1;  // the first is the program
      },
      &search);
  return search.offset;
}

}  // namespace ioc_exporter::test
