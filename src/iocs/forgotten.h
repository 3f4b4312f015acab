// The IOCs that an operator wants forgotten: a file beside that of the seen ones, which
// `ioc_exporter iocs forget` writes and the exporter reads. Whoever may write to that folder, root
// and the exporter's own user, may have an IOC forgotten; nobody may by asking the exporter.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace ioc_exporter::iocs {

struct Forgotten {
  std::string name;
  std::int64_t time = 0;  // seconds since 1970: what was seen later is not meant
};

// The latest kMostForgotten are kept.
inline constexpr std::size_t kMostForgotten = 1024;

// None where there is no such file.
Result<std::vector<Forgotten>> read_forgotten(const std::string& folder);
// Adds them to those that are there.
Result<void> write_forgotten(const std::string& folder, const std::vector<Forgotten>& more);

// Whether the file is another one than at the last call.
class ForgottenWatch {
 public:
  explicit ForgottenWatch(const std::string& folder);
  bool has_changed();

 private:
  std::string path_;
  std::int64_t inode_ = -1, changed_ns_ = 0;
};

}  // namespace ioc_exporter::iocs
