// One request on a civetweb connection: read it, answer it.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>

#include "web/message.h"

struct mg_connection;

namespace ioc_exporter::web {

// The request as a route sees it.
Request read_request(const mg_connection* connection);

// Reads a body from the connection, at most 8 KiB, for at most half a second more than civetweb's
// timeout for one byte; the connection will close after the answer. Without it the
// close would reset the connection, and the client might not see the answer.
void drain_body(mg_connection* connection);

// Sends status, headers and (not for HEAD) the body, compressed where that pays. A client that does
// not take it all within `timeout`, or takes less than 256 KiB a second, loses the connection, and
// false is returned. `nearly_sent` is called before the last 64 KiB, when all else of the body is
// freed.
bool send_response(mg_connection* connection, const Request& request, Response response,
                   std::chrono::milliseconds timeout, const std::function<void()>& nearly_sent);

// The same of a response with a stream, until that ends, `stopping` is set, or the client does not
// take the answer.
bool send_stream(mg_connection* connection, const Request& request, const Response& response,
                 const std::atomic<bool>& stopping);

}  // namespace ioc_exporter::web
