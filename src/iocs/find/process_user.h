// Whose processes are.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/rooted_fs.h"

namespace ioc_exporter::iocs {

// Of a process that has ended meanwhile.
inline constexpr uid_t kNoUser = static_cast<uid_t>(-1);

// Who started the process: its real user id, as the host sees it, also where a container has users
// of its own. Not the owner of its files in /proc: a process can make that root.
std::optional<uid_t> user_of(const RootedFs& fs, pid_t pid);

// Names of users from the host's /etc/passwd, and from nowhere else: to ask a directory service may
// take for ever. Not thread-safe.
class UserNames {
 public:
  explicit UserNames(RootedFs fs) : fs_(std::move(fs)) {}

  // The number where the file names nobody; "" for kNoUser.
  std::string name_of(uid_t user);
  bool knows(const std::string& name);

 private:
  void read();

  RootedFs fs_;
  // Of the file, when it was read: it is read again when it is another.
  std::uint64_t inode_ = 0;
  std::int64_t changed_ns_ = 0;
  std::map<uid_t, std::string> names_;
};

// Whose IOCs go before those of others, when there is not enough for all: root's, and those of the
// users that were named.
class FirstUsers {
 public:
  FirstUsers() = default;  // nobody was named: all are alike but root
  // Names or numbers.
  explicit FirstUsers(std::set<std::string> users) : named_(std::move(users)) {}

  bool contains(uid_t user, const std::string& name) const {
    return user == 0 || named_.contains(name) || named_.contains(std::to_string(user));
  }
  // There are others than the users of IOCs.
  bool leaves_some_out() const { return !named_.empty(); }
  const std::set<std::string>& named() const { return named_; }

 private:
  std::set<std::string> named_;
};

}  // namespace ioc_exporter::iocs
