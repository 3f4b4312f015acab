#include "web/message.h"

namespace ioc_exporter::web {

// No address begins with a blank.
std::string holder_of(const std::string& remote, const std::string& user) {
  return user.empty() ? remote : " " + user;
}

bool is_user(const std::string& holder) {
  return holder.starts_with(' ');
}

}  // namespace ioc_exporter::web
