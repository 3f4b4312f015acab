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

}  // namespace ioc_exporter::app
