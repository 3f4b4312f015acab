// An answer that says why there is none.
#pragma once

#include <string>

#include "web/message.h"

namespace ioc_exporter::app {

inline web::Response refuse(int status, const std::string& why) {
  web::Response response;
  response.status = status;
  response.body = std::to_string(status) + " " + why + "\n";
  return response;
}

// Any page that somebody looks at would take the places of who follows.
inline web::Response refuse_page() {
  web::Response response = refuse(403, "this is not to be followed by pages of other sites");
  response.refused = "origin";
  return response;
}

}  // namespace ioc_exporter::app
