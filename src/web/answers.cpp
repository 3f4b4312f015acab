#include "web/answers.h"

#include <utility>

namespace ioc_exporter::web {

Response plain(int status, std::string text) {
  Response response;
  response.status = status;
  response.body = std::move(text) + "\n";
  return response;
}

Response refused(int status, const char* reason, const char* text) {
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
