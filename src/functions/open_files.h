// OpenFiles: how many files are kept open, or known, for whose processes. A user with many is
// refused before others (bpf/shared/shares.h).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>

#include "shared/shares.h"

namespace ioc_exporter::functions {

// Not thread-safe.
class OpenFiles {
 public:
  explicit OpenFiles(std::size_t most) : room_(static_cast<std::uint32_t>(most)) {}

  bool may_add(uid_t user) const {
    const auto own = by_user_.find(user);
    return iocx_one_may(own == by_user_.end() ? 0 : own->second,
                        static_cast<std::int32_t>(room_) - static_cast<std::int32_t>(all_),
                        room_ / 2) != 0;
  }
  void add(uid_t user) {
    ++all_;
    ++by_user_[user];
  }
  void remove(uid_t user) {
    --all_;
    if (const auto own = by_user_.find(user); --own->second == 0) by_user_.erase(own);
  }
  bool is_crowded() const { return all_ > room_ / 2; }

 private:
  std::uint32_t room_, all_ = 0;
  std::map<uid_t, std::uint32_t> by_user_;
};

}  // namespace ioc_exporter::functions
