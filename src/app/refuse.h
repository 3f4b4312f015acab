// An answer that says why there is none.
#pragma once

#include <string>

#include "web/message.h"

namespace ioc_exporter::app {

// `reason`: see web::Response::refused.
inline web::Response refuse(int status, const std::string& why, const char* reason = "") {
  web::Response response;
  response.status = status;
  response.body = std::to_string(status) + " " + why + "\n";
  response.refused = reason;
  return response;
}

// Any page that somebody looks at would take the places of who follows.
inline web::Response refuse_page() {
  return refuse(403, "this is not to be followed by pages of other sites", "origin");
}

}  // namespace ioc_exporter::app
