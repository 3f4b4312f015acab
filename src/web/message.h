// Request and response of a route: HTTP without the library that speaks it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/byte_buffer.h"

namespace ioc_exporter::web {

struct Request {
  std::string method;  // "GET" or "HEAD", or "POST" for an action: the server answers all others
  std::string path;    // decoded, without query
  std::string query;   // the part after '?', as sent; see base/query.h
  std::string accept;  // "" when the client sent none; several headers are joined by commas
  std::string accept_encoding;
  std::string authorization = {};  // the header, "" when the client sent none
  std::string origin =
      {};                 // of the page from which a browser asks; "" when it is no browser's POST
  std::string host = {};  // the header, "" when the client sent none
  std::string remote = {};      // the address that the request came from
  std::string fetch_site = {};  // the header Sec-Fetch-Site, of browsers
};

// A body that goes on until it ends itself, or its client does.
class BodyStream {
 public:
  virtual ~BodyStream() = default;
  // Next piece, "" when there was none for a quarter of a second or so; nothing: the end.
  virtual std::optional<std::string> next() = 0;
  // At the end: whether it has left nothing out for a client that was too slow.
  virtual bool is_whole() const { return true; }
};

struct Response {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;        // not compressed: the server does that
  std::string allow = {};  // the methods that are allowed here, with status 405
  // A body that several answers share, instead of `body`: sent as it is, in its coding.
  std::shared_ptr<const ByteBuffer> shared_body = {};
  std::string content_encoding = {};                // of `shared_body`; "" = none
  std::shared_ptr<BodyStream> stream = {};          // instead of `body`; the connection closes then
  std::string vary = "Accept-Encoding";             // headers that made the answer what it is
  std::map<std::string, std::string> headers = {};  // more of them
  const char* refused = "";  // why nothing was done, in a word for /metrics; "" = it was done
};

// Whether a request is let in.
struct Admission {
  std::optional<Response> refusal = {};  // the answer, if it is refused
  std::string user = {};                 // owner of its password; "" = none
};

// Whether a browser says that a page of another site asks.
bool is_of_other_page(const Request& request);

// Called from several threads at once. May throw: the client gets a 500, the log the reason.
using Handler = std::function<Response(const Request&)>;

// `text` and a line end.
Response plain(int status, std::string text);

// `reason`: see Response::refused.
Response refused(int status, const char* reason, const std::string& text);

Response not_for_pages();

Response not_allowed(const Request& request, const char* allowed);

}  // namespace ioc_exporter::web
