#include "web/message.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <array>
#include <string_view>

#include "web/own_sockets.h"

namespace ioc_exporter::web {

std::string place_of(const std::string& address) {
  const std::string text = plain_address(address);
  if (text.starts_with("127.") || text == "::1") return "local";
  const std::string without_scope = text.substr(0, text.find('%'));
  std::array<char, sizeof(in6_addr)> bytes{};
  if (::inet_pton(AF_INET6, without_scope.c_str(), bytes.data()) != 1) return text;
  return "net:" + std::string(bytes.data(), bytes.size() / 2);
}

// No address begins with a blank.
std::string holder_of(const std::string& remote, const std::string& user) {
  return user.empty() ? place_of(remote) : " " + user;
}

bool is_user(const std::string& holder) {
  return holder.starts_with(' ');
}

}  // namespace ioc_exporter::web
