#include "iocs/process_user.h"

#include <charconv>
#include <string>
#include <string_view>

namespace ioc_exporter::iocs {

uid_t user_of_process(const RootedFs& fs, pid_t pid) {
  constexpr std::string_view kField = "\nUid:\t";
  const auto status = fs.read("/proc/" + std::to_string(pid) + "/status", 4096);
  const std::size_t at = status ? status->find(kField) : std::string::npos;
  uid_t user = kNoUser;
  if (at != std::string::npos)
    std::from_chars(status->data() + at + kField.size(), status->data() + status->size(), user);
  return user;
}

}  // namespace ioc_exporter::iocs
