// Privileges: the rights of root that the exporter keeps once all is opened. docs/security.md gives
// the reason for each capability.
#pragma once

#include <sys/capability.h>
#include <sys/types.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/rooted_fs.h"

namespace ioc_exporter::app {

struct Privileges {
  // Name or number; "": ioc_exporter, or where there is no such user an id that nobody else has.
  std::string user = {};
  std::vector<cap_value_t> capabilities = {};  // that are kept, as far as they are there
  bool keep_all = false;                       // all capabilities

  bool keeps(cap_value_t capability) const {
    return keep_all || std::ranges::find(capabilities, capability) != capabilities.end();
  }
};

// "bpf", "CAP_BPF"; "none" alone is the empty list. Errors name the word.
Result<std::vector<cap_value_t>> parse_capabilities(const std::vector<std::string>& words);

// "bpf,net_raw": as parse_capabilities() reads the words.
std::string capabilities_text(const std::vector<cap_value_t>& capabilities);

// Where no user is named and there is no ioc_exporter: names the unused id that all processes of
// the exporter become. The end of one can end only those of the same user. Before they are forked.
Result<void> choose_user(Privileges& keep, const RootedFs& fs = RootedFs());

// Whether the exporter becomes that user.
bool is_own_user(uid_t user, const Privileges& keep);

// Leaves the controlling terminal, becomes the user, keeps these capabilities and none besides, in
// no set; no program that is run from then on gets others (no_new_privs). To be called before the
// first thread is started: what a thread may do is its own. Where the process is not root
// already, the user stays what it is. Returns what it may do from now on, in words.
Result<std::string> drop_privileges(const Privileges& keep, const RootedFs& fs = RootedFs());

// Calls `work` while of this thread's capabilities only these are in effect; then all are again.
Result<void> with_only(const std::vector<cap_value_t>& capabilities,
                       const std::function<void()>& work);

}  // namespace ioc_exporter::app
