#include "web/message.h"

#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/ascii.h"
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

bool is_of_other_page(const Request& request) {
  if (request.fetch_site == "cross-site") return true;
  if (request.origin.empty()) return false;
  const std::size_t scheme = request.origin.find("://");
  const std::string_view from = scheme == std::string::npos
                                    ? std::string_view()  // "null"
                                    : std::string_view(request.origin).substr(scheme + 3);
  return from.empty() || !std::ranges::equal(from, request.host, {}, lower, lower);
}

Response plain(int status, std::string text) {
  Response response;
  response.status = status;
  response.body = std::move(text) + "\n";
  return response;
}

Response refused(int status, const char* reason, const std::string& text) {
  Response response = plain(status, std::to_string(status) + " " + text);
  response.refused = reason;
  return response;
}

Response not_for_pages() {
  return refused(403, "origin", "this is for scripts and the command line, not for pages");
}

Response not_allowed(const Request& request, const char* allowed) {
  Response response = plain(405, "405 " + request.method + " is not allowed here");
  response.allow = allowed;
  return response;
}

}  // namespace ioc_exporter::web
