// A server for the tests, on a port that the kernel picks.
#pragma once

#include <gtest/gtest.h>

#include "web/server.h"

namespace ioc_exporter::web {

// About 500 KB that compress well: the body of /metrics.
std::string long_text();

// Routes: /metrics, /small (says what it was asked), /throws and /throws-int; action: /act.
ServerOptions options_on(std::vector<std::string> listen);

// Throws when the server does not start.
std::unique_ptr<Server> start(ServerOptions options);

class ServerFixture : public testing::Test {
 protected:
  std::unique_ptr<Server> server_ = start(options_on({"127.0.0.1:0"}));
  std::uint16_t port_ = server_->port();
};

}  // namespace ioc_exporter::web
