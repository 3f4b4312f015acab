// fetch() and follow(): one GET, for the commands that ask a running exporter. HTTP/1.0 over TCP or
// TLS, no redirects.
//
// It is not civetweb's client (mg_connect_client, mg_get_response, mg_read; 1.15, Debian 12), which
// cannot bound the whole: only the wait for the headers takes a limit; connecting has 10 s, and
// each read of the body 30 s. A body without a length that stalls then looks like one that is
// complete, so that half a scrape could become a policy. It also tries one address of a host only,
// IPv4 where there is one (here: IPv6 never), and says neither why a name was not found nor whether
// an answer is late or no HTTP.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/tls_client.h"

namespace ioc_exporter {

struct Fetched {
  int status = 0;
  std::string body;
  std::map<std::string, std::string> headers = {};  // names in lower case; the last one of a name
};

// Credentials of a request.
struct FetchAs {
  std::string login = {};  // "USER:PASSWORD" for basic authentication, "" = none
  TlsClientFiles tls = {};
};

// `url`: http://HOST[:PORT][/PATH][?QUERY] or https://..., encoded already; port 80, or 443, where
// none is given. Any status is an answer. `timeout` is for the whole. Errors say what failed: the
// URL, the host's name, the connection, the handshake, an answer that is cut short, over 64 MiB
// (its head: 64 KiB) or no HTTP. An answer ends where it says so, else with the connection.
Result<Fetched> fetch(const std::string& url,
                      std::chrono::milliseconds timeout = std::chrono::seconds(10),
                      const FetchAs& as = {});

struct HttpPost {
  std::string url, content_type, body;
  FetchAs as = {};
  std::map<std::string, std::string> headers = {};
};
// One POST; the rest as fetch(), but for the answer, of which 16 KiB are read.
Result<Fetched> send_post(const HttpPost& post, std::chrono::milliseconds timeout);

// Receives the body of an endless answer in pieces. False: enough.
using BodyReader = std::function<bool(std::string_view)>;

// The same of an answer that goes on: with status 200 its body goes to `read` until that has enough
// or the server closes, and comes back empty; another status is an answer as above. `silence`: how
// long nothing may come.
Result<Fetched> follow(const std::string& url, const BodyReader& read,
                       std::chrono::milliseconds silence, const FetchAs& as = {});

}  // namespace ioc_exporter
