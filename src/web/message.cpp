#include "web/message.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/ascii.h"

namespace ioc_exporter::web {

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
