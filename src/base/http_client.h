// fetch(): one GET, for the commands that ask a running exporter. HTTP/1.0 over TCP, no TLS, no
// redirects.
#pragma once

#include <chrono>
#include <string>

#include "base/result.h"

namespace ioc_exporter {

struct Fetched {
  int status = 0;
  std::string body;
};

// `url`: http://HOST[:PORT][/PATH][?QUERY], encoded already; port 80 where none is given. Any
// status is an answer. `timeout` is for the whole. Errors say what failed: the URL, the host's
// name, the connection, an answer that is cut short, over 64 MiB or no HTTP.
// `login`: "USER:PASSWORD" for basic authentication, "" = none.
Result<Fetched> fetch(const std::string& url,
                      std::chrono::milliseconds timeout = std::chrono::seconds(10),
                      const std::string& login = "");

}  // namespace ioc_exporter
