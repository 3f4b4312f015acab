#include "app/privileges.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <sstream>

#include "base/ascii.h"
#include "base/unique_fd.h"

namespace ioc_exporter::app {
namespace {

constexpr const char* kOwnUser = "ioc_exporter";  // the packages make it
constexpr uid_t kOverflowId = 65534;  // nobody: whoever runs as it may send its others signals
// Ids that distributions leave to services that have no account (systemd's DynamicUser=).
constexpr uid_t kFirstDynamic = 61184, kLastDynamic = 65519;

struct User {
  std::string name;
  uid_t uid = 0;
  gid_t gid = 0;
};

struct CapsDeleter {
  void operator()(cap_t caps) const { cap_free(caps); }
};
using Caps = std::unique_ptr<std::remove_pointer_t<cap_t>, CapsDeleter>;

std::optional<User> find_user(const std::string& name) {
  if (const passwd* entry = ::getpwnam(name.c_str()))
    return User{name, entry->pw_uid, entry->pw_gid};
  uid_t uid = 0;
  const char* end = name.data() + name.size();
  const auto [stop, problem] = std::from_chars(name.data(), end, uid);
  if (problem != std::errc() || stop != end) return std::nullopt;
  const passwd* entry = ::getpwuid(uid);
  return User{name, uid, entry ? entry->pw_gid : static_cast<gid_t>(uid)};
}

// Users and groups of all processes.
std::set<std::uint64_t> ids_in_use(const RootedFs& fs) {
  std::set<std::uint64_t> ids;
  const auto names = fs.list("/proc");
  if (!names) return ids;
  for (const std::string& name : *names) {
    const auto status = name.front() >= '0' && name.front() <= '9'
                            ? fs.read("/proc/" + name + "/status")
                            : Result<std::string>(std::string());
    if (!status) continue;  // it has ended
    std::istringstream lines(*status);
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("Uid:") && !line.starts_with("Gid:") && !line.starts_with("Groups:"))
        continue;
      std::istringstream words(line.substr(line.find(':') + 1));
      for (std::uint64_t id = 0; words >> id;) ids.insert(id);
    }
  }
  return ids;
}

// An id that no account has and nobody runs as. Two that start at the same time do not begin to
// look at the same one.
Result<User> unused_user(const RootedFs& fs) {
  const std::set<std::uint64_t> in_use = ids_in_use(fs);
  constexpr uid_t kCount = kLastDynamic - kFirstDynamic + 1;
  const uid_t begin = static_cast<uid_t>(::getpid()) % kCount;
  for (uid_t i = 0; i < kCount; ++i) {
    const uid_t id = kFirstDynamic + (begin + i) % kCount;
    if (!in_use.contains(id) && ::getpwuid(id) == nullptr && ::getgrgid(id) == nullptr)
      return User{std::to_string(id), id, id};
  }
  return error_in_words("become a user of its own: all ids from " + std::to_string(kFirstDynamic) +
                        " to " + std::to_string(kLastDynamic) + " are in use");
}

Result<User> wanted_user(const std::string& name, const RootedFs& fs) {
  const auto user = find_user(name.empty() ? kOwnUser : name);
  if (!user && name.empty()) return unused_user(fs);
  if (!user) return error_in_words("become user " + name + ": there is no such user");
  if (user->uid != kOverflowId) return *user;
  return error_in_words("become user " + name +
                        ": other services run as it, and could send the exporter signals; name a "
                        "user that nothing else runs as, or none");
}

std::string capability_name(cap_value_t capability) {
  char* text = cap_to_name(capability);
  const std::string name = text ? text : std::to_string(capability);
  cap_free(text);
  return name.starts_with("cap_") ? name.substr(4) : name;
}

std::vector<cap_value_t> permitted() {
  std::vector<cap_value_t> all;
  const Caps caps(cap_get_proc());
  cap_flag_value_t is_set = CAP_CLEAR;
  for (cap_value_t each = 0; each < cap_max_bits(); ++each)
    if (caps && cap_get_flag(caps.get(), each, CAP_PERMITTED, &is_set) == 0 && is_set == CAP_SET)
      all.push_back(each);
  return all;
}

// How many threads this process has; 0: not known.
int threads(const RootedFs& fs) {
  const auto status = fs.read("/proc/self/status");
  return status ? static_cast<int>(number_after(*status, "\nThreads:").value_or(0)) : 0;
}

// Ctrl-C still comes: that goes to the process group. A session leader would take the terminal from
// all others; there the filter of system calls stands alone.
void leave_terminal() {
  const UniqueFd terminal(::open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (terminal && ::getsid(0) != ::getpid()) ::ioctl(terminal.get(), TIOCNOTTY);
}

Result<void> become(const User& user) {
  const std::string action = "become user " + user.name + " (uid " + std::to_string(user.uid) + ")";
  // The kernel forgets at whose end it ends.
  int at_parents_end = 0;
  if (::prctl(PR_GET_PDEATHSIG, &at_parents_end) != 0) return last_error(action);
  if (::prctl(PR_SET_KEEPCAPS, 1) != 0) return last_error(action);
  if (::setgroups(0, nullptr) != 0) return last_error(action);
  if (::setresgid(user.gid, user.gid, user.gid) != 0) return last_error(action);
  if (::setresuid(user.uid, user.uid, user.uid) != 0) return last_error(action);
  if (::prctl(PR_SET_PDEATHSIG, at_parents_end) != 0) return last_error(action);
  return {};
}

// While CAP_SETPCAP is there; without it the set bounds nothing any more, for there is no exec.
Result<void> bound(const std::vector<cap_value_t>& kept) {
  for (cap_value_t each = 0; each < cap_max_bits(); ++each) {
    if (std::ranges::find(kept, each) != kept.end() || cap_get_bound(each) != 1) continue;
    if (cap_drop_bound(each) != 0 && errno != EPERM)
      return last_error("drop " + capability_name(each) + " from the bounding set");
  }
  return {};
}

Result<void> set_capabilities(const std::vector<cap_value_t>& kept) {
  const std::string action = "keep " + std::to_string(kept.size()) + " capabilities";
  const Caps caps(cap_init());
  if (!caps) return last_error(action);
  const int count = static_cast<int>(kept.size());
  for (const cap_flag_t flag : {CAP_PERMITTED, CAP_EFFECTIVE})
    if (count > 0 && cap_set_flag(caps.get(), flag, count, kept.data(), CAP_SET) != 0)
      return last_error(action);
  if (cap_set_proc(caps.get()) != 0) return last_error(action);
  return {};
}

std::string in_words(const std::string& user, const std::vector<cap_value_t>& kept) {
  std::string text = "runs as user " + user;
  for (std::size_t i = 0; i < kept.size(); ++i)
    text += (i == 0 ? " with " : ",") + capability_name(kept[i]);
  return kept.empty() ? text + " without capabilities" : text;
}

}  // namespace

Result<std::vector<cap_value_t>> parse_capabilities(const std::vector<std::string>& words) {
  std::vector<cap_value_t> all;
  if (words == std::vector<std::string>{"none"}) return all;
  for (const std::string& word : words) {
    const std::string name =
        word.starts_with("cap_") || word.starts_with("CAP_") ? word.substr(4) : word;
    cap_value_t value = 0;
    // cap_from_name() takes numbers, too.
    if (name.empty() || (name[0] >= '0' && name[0] <= '9') ||
        cap_from_name(("cap_" + name).c_str(), &value) != 0)
      return error_in_words("\"" + word + "\" is no capability, such as bpf or sys_ptrace");
    all.push_back(value);
  }
  return all;
}

std::string capabilities_text(const std::vector<cap_value_t>& capabilities) {
  std::string text;
  for (const cap_value_t capability : capabilities)
    text.append(text.empty() ? "" : ",").append(capability_name(capability));
  return text;
}

Result<void> choose_user(Privileges& keep, const RootedFs& fs) {
  if (::geteuid() != 0 || !keep.user.empty() || find_user(kOwnUser)) return {};
  auto unused = unused_user(fs);
  if (!unused) return std::move(unused).error();
  keep.user = unused->name;
  return {};
}

bool is_own_user(uid_t user, const Privileges& keep) {
  const auto own = find_user(keep.user.empty() ? kOwnUser : keep.user);
  return own && own->uid == user;
}

Result<std::string> drop_privileges(const Privileges& keep, const RootedFs& fs) {
  if (const int count = threads(fs); count > 1)
    return error_in_words("drop privileges: " + std::to_string(count) + " threads run already");
  auto user = ::geteuid() == 0 ? wanted_user(keep.user, fs)
                               : User{std::to_string(::geteuid()), ::geteuid(), ::getegid()};
  if (!user) return std::move(user).error();
  leave_terminal();
  std::vector<cap_value_t> kept = permitted();
  if (!keep.keep_all) {
    std::erase_if(kept, [&keep](cap_value_t each) { return !keep.keeps(each); });
    if (auto ok = bound(kept); !ok) return ok.error();
  }
  if (user->uid != ::geteuid())
    if (auto ok = become(*user); !ok) return ok.error();
  if (cap_reset_ambient() != 0 && errno != ENOSYS)
    return last_error("empty the set of ambient capabilities");
  if (auto ok = set_capabilities(kept); !ok) return ok.error();
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return last_error("set no_new_privs");
  return in_words(user->name, kept);
}

Result<void> with_only(const std::vector<cap_value_t>& capabilities,
                       const std::function<void()>& work) {
  const std::string action = "put capabilities out of effect for a while";
  std::vector<cap_value_t> some = permitted();
  std::erase_if(some, [&capabilities](cap_value_t each) {
    return std::ranges::find(capabilities, each) == capabilities.end();
  });
  const Caps before(cap_get_proc()), during(cap_get_proc());
  if (!before || !during || cap_clear_flag(during.get(), CAP_EFFECTIVE) != 0 ||
      cap_set_flag(during.get(), CAP_EFFECTIVE, static_cast<int>(some.size()), some.data(),
                   CAP_SET) != 0 ||
      cap_set_proc(during.get()) != 0)
    return last_error(action);
  work();
  return cap_set_proc(before.get()) == 0 ? Result<void>() : last_error(action);
}

}  // namespace ioc_exporter::app
