#include "test_server.h"

#include <chrono>
#include <stdexcept>

#include "support/value_of.h"

namespace ioc_exporter::web {

using namespace std::chrono_literals;

std::string long_text() {
  std::string text;
  for (int i = 0; i < 20000; ++i)
    text.append("metric{n=\"").append(std::to_string(i)).append("\"} 23\n");
  return text;
}

ServerOptions options_on(std::vector<std::string> listen) {
  ServerOptions options;
  options.listen = std::move(listen);
  options.request_timeout = 60s;
  options.routes["/metrics"] = [](const Request&) {
    return Response{200, "text/plain; version=0.0.4; charset=utf-8", long_text()};
  };
  options.routes["/small"] = [](const Request& request) {
    return Response{200, "text/plain; charset=utf-8",
                    request.method + " " + request.path +
                        (request.query.empty() ? "" : "?" + request.query) + " " + request.accept};
  };
  options.actions["/act"] = [](const Request& request) {
    return Response{200, "text/plain; charset=utf-8", "did " + request.path};
  };
  options.routes["/throws"] = [](const Request&) -> Response {
    throw std::runtime_error("on purpose");
  };
  options.routes["/throws-int"] = [](const Request&) -> Response { throw 23; };
  return options;
}

std::unique_ptr<Server> start(ServerOptions options) {
  return value_of(Server::start(std::move(options)));
}

}  // namespace ioc_exporter::web
