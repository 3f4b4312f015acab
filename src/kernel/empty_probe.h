// An empty uprobe: the trap alone, to be measured.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"

namespace ioc_exporter::kernel {

// Attached while it lives.
class EmptyProbe {
 public:
  // To the function at `offset` bytes in the file at `path`, in one process.
  enum class Where { entry, at_return };
  static Result<EmptyProbe> attach(const std::string& path, std::uint64_t offset, std::int32_t pid,
                                   Where where = Where::entry);
  EmptyProbe(EmptyProbe&&) noexcept;
  EmptyProbe& operator=(EmptyProbe&&) noexcept;
  ~EmptyProbe();

 private:
  struct Loaded;
  explicit EmptyProbe(std::unique_ptr<Loaded> loaded);
  std::unique_ptr<Loaded> loaded_;
};

}  // namespace ioc_exporter::kernel
