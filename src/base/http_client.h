// HTTP requests by libcurl, for the sinks and for the commands that ask a running exporter. No
// redirects, no proxies; TLS 1.2 at least, and the server's certificate is checked against its
// name. Names are looked up for each request, in another thread or without waiting (c-ares): a name
// server that does not answer costs no more than the timeout.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace ioc_exporter {

// Files in the PEM format.
struct TlsClientFiles {
  std::string authorities;       // who signs servers' certificates; "" = whom this host believes
  std::string certificate, key;  // to show a server that asks; "" = none
};

// Content-Type by which the exporter alone says: what is asked for is not there.
inline constexpr const char* kNotFoundType = "text/plain; charset=utf-8; by=ioc_exporter";

struct Fetched {
  int status = 0;
  std::string body;
  std::string content_type = {};
  std::chrono::seconds retry_after{};  // 0: the answer does not say
};

// Credentials of a request.
struct FetchAs {
  std::string login = {};  // "USER:PASSWORD" for basic authentication, "" = none
  TlsClientFiles tls = {};
};

// Loads libcurl, which a sandbox refuses, and the first request does otherwise.
Result<void> prepare_http_client();

// `url`: http://HOST[:PORT][/PATH][?QUERY] or https://..., encoded already. Any status is an
// answer. `timeout` is for the whole. Errors say what failed: the URL, the host's name, the
// connection, the handshake, an answer that is cut short, over 64 MiB (its head: 64 KiB) or no
// HTTP.
Result<Fetched> fetch(const std::string& url,
                      std::chrono::milliseconds timeout = std::chrono::seconds(10),
                      const FetchAs& as = {});

struct HttpPost {
  std::string url, content_type, body;
  FetchAs as = {};
  std::map<std::string, std::string> headers = {};
};
// One POST; as fetch(), but for the answer, of which 16 KiB are read: a receiver must not
// fill our memory.
Result<Fetched> send_post(const HttpPost& post, std::chrono::milliseconds timeout);

// Receives the body of an endless answer in pieces. False: enough.
using BodyReader = std::function<bool(std::string_view)>;

// The same of an answer that goes on: with status 200 its body goes to `read` until that has enough
// or the server closes, and comes back empty; another status is an answer as above. `silence`: how
// long nothing may come.
Result<Fetched> follow(const std::string& url, const BodyReader& read,
                       std::chrono::milliseconds silence, const FetchAs& as = {});

// A TCP connection, whose socket does not block. `host`: a name, or an address in figures.
Result<UniqueFd> connect_tcp(const std::string& host, const std::string& port,
                             std::chrono::milliseconds timeout);

}  // namespace ioc_exporter
