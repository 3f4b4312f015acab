// An IOC whose memory is this process', whatever the address, with a list of things in it.
#pragma once

#include <gtest/gtest.h>
#include <sys/uio.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "base/yaml_reader.h"
#include "functions/walk.h"
#include "functions/walk_watch.h"
#include "support/value_of.h"

namespace ioc_exporter::functions {

class OwnMemory : public iocs::Memory {
 public:
  Result<std::size_t> read_some(std::uint64_t address, std::span<std::byte> into) override {
    const iovec to{into.data(), into.size()};
    const iovec from{reinterpret_cast<void*>(address), into.size()};
    const ssize_t got = ::process_vm_readv(::getpid(), &to, 1, &from, 1, 0);
    if (got <= 0) return last_error("read " + iocs::hex_address(address));
    return static_cast<std::size_t>(got);
  }
};

struct Thing {
  Thing* next;
  const char* name;
  long value = 0;
};
struct Variable {
  Thing* first;
};
inline WalkPlaces places(const Variable& list) {
  return {"/lib", {{"list", reinterpret_cast<std::uint64_t>(&list)}}, ""};
}

inline std::vector<Walk> walks_in(const std::string& text) {
  std::vector<Walk> walks;
  const auto good =
      read_yaml(text, "test.yaml", [&](Reader& file) { read_walks(file, walks, "epics_"); });
  EXPECT_EQ(error_of(good), "");
  return walks;
}

}  // namespace ioc_exporter::functions
