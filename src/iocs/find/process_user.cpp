#include "iocs/find/process_user.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/number_after.h"
#include "base/utf8.h"

namespace ioc_exporter::iocs {
namespace {

constexpr std::size_t kMostPasswd = 4u << 20;
constexpr std::size_t kLongestName = 64;

std::string_view take_field(std::string_view& line) {
  const auto end = std::min(line.find(':'), line.size());
  const std::string_view field = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return field;
}

bool is_number(std::string_view text) {
  return text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

std::optional<uid_t> user_of(const RootedFs& fs, pid_t pid) {
  const auto status = fs.read("/proc/" + std::to_string(pid) + "/status", 4096);
  const auto user = status ? number_after(*status, "\nUid:") : std::nullopt;
  return user ? std::optional(static_cast<uid_t>(*user)) : std::nullopt;
}

void UserNames::read() {
  struct stat status {};
  const bool there = ::stat(fs_.path("/etc/passwd").c_str(), &status) == 0;
  const std::int64_t changed = status.st_ctim.tv_sec * 1'000'000'000 + status.st_ctim.tv_nsec;
  if (there && status.st_ino == inode_ && changed == changed_ns_) return;
  names_.clear();
  inode_ = status.st_ino;
  changed_ns_ = changed;
  const auto text = fs_.read_regular("/etc/passwd", kMostPasswd);
  if (!text) return;
  for (std::string_view rest = *text; !rest.empty();) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const std::string_view name = take_field(line);
    take_field(line);  // the password
    const std::string_view number = take_field(line);
    uid_t user = 0;
    const auto read = std::from_chars(number.data(), number.data() + number.size(), user);
    // A name of digits would pass for another user's number.
    if (read.ec != std::errc() || read.ptr != number.data() + number.size() || is_number(name))
      continue;
    names_.try_emplace(user, printable_utf8(name, kLongestName));
  }
}

std::string UserNames::name_of(uid_t user) {
  if (user == kNoUser) return "";
  read();
  const auto found = names_.find(user);
  return found == names_.end() ? std::to_string(user) : found->second;
}

}  // namespace ioc_exporter::iocs
