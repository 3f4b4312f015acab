// Answers that say why nothing was done.
#pragma once

#include <string>

#include "web/message.h"

namespace ioc_exporter::web {

// `text` and a line end.
Response plain(int status, std::string text);

// `reason`: see Response::refused.
Response refused(int status, const char* reason, const char* text);

Response not_for_pages();

Response not_allowed(const Request& request, const char* allowed);

}  // namespace ioc_exporter::web
