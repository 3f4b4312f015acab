// Receivers over the network: where they are, and one POST to those that acknowledge by HTTP.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>

#include "base/http_client.h"
#include "base/result.h"
#include "delivery/sink.h"

namespace ioc_exporter::delivery {

// "HOST:PORT", "[::1]:7011".
struct HostAndPort {
  std::string host, port;
};
Result<HostAndPort> parse_host_and_port(const std::string& text);

// http://HOST[:PORT][/PATH] without a slash at its end, or https://... `example`: one that is
// right, for the error.
Result<void> check_url(const std::string& url, const std::string& example);
// A text that goes into a header: printable, without a line end. `what`: "name of a tenant".
Result<void> check_header(const std::string& text, const std::string& what);

// Statuses that another try does not help.
bool is_refused_for_good(int status);

// One that takes requests by HTTP.
struct HttpReceiver {
  std::string url;  // "http://loki:3100"; the path of its API may stand in it
  FetchAs as = {};
  std::map<std::string, std::string> headers = {};

  // To its URL, which ends with `path`; without a body.
  HttpPost post(const std::string& path, const std::string& content_type) const;
};

struct Push {
  HttpPost post;
  std::size_t entries = 0;  // that it carries
  std::string where;        // for errors: "push to http://loki:3100"
  bool (*is_refused)(int status) = is_refused_for_good;
  // Further contents of an answer with status 2xx.
  std::function<void(const Fetched& answer, Delivered& done)> read = {};
  // The words of an answer with another status, where it is no text.
  std::function<std::string(const Fetched& answer)> words = {};
};
// Within some seconds. A Retry-After of the answer is kept to. What the answer repeats of the login
// and the headers is not in the problem.
Delivered push(const Push& push);

}  // namespace ioc_exporter::delivery
