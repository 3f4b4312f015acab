// Users of processes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/rooted_fs.h"

namespace ioc_exporter::iocs {

// Of a process that has ended meanwhile.
inline constexpr uid_t kNoUser = static_cast<uid_t>(-1);

// User who started the process: its real user id, as the host sees it, also where a container has
// users
// of its own. Not the owner of its files in /proc: a process can make that root.
std::optional<uid_t> user_of(const RootedFs& fs, pid_t pid);

// Names of users from the host's /etc/passwd, and from nowhere else: to ask a directory service may
// take for ever. Not thread-safe.
class UserNames {
 public:
  explicit UserNames(RootedFs fs) : fs_(std::move(fs)) {}

  // The number where the file names nobody; "" for kNoUser.
  std::string name_of(uid_t user);

 private:
  void read();

  RootedFs fs_;
  // Of the file, when it was read: it is read again when it is another.
  std::uint64_t inode_ = 0;
  std::int64_t changed_ns_ = 0;
  std::map<uid_t, std::string> names_;
};

}  // namespace ioc_exporter::iocs
