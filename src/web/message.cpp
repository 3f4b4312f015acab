#include "web/message.h"

namespace ioc_exporter::web {

// No address begins with a blank.
std::string holder_of(const std::string& remote, const std::string& user) {
  return user.empty() ? remote : " " + user;
}

}  // namespace ioc_exporter::web
