#include "base/http_client.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "base/ascii.h"
#include "base/base64.h"
#include "base/tcp.h"
#include "base/unique_fd.h"

namespace ioc_exporter {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxAnswer = 64 << 20, kMaxHead = 64 << 10;

struct Url {
  std::string host;  // without the brackets of an IPv6 address
  std::string port = "80";
  std::string target = "/";  // path and query
  std::string authority;     // as given
};

Result<Url> parse_url(const std::string& text) {
  const auto refuse = [&text](const char* why) {
    return error_in_words("read the URL \"" + text + "\": " + why);
  };
  constexpr std::string_view kScheme = "http://";
  if (text.starts_with("https://")) return refuse("https is not supported, only http");
  if (!text.starts_with(kScheme)) return refuse("it does not start with http://");
  if (std::any_of(text.begin(), text.end(), [](char c) { return c <= 0x20 || c == 0x7f; }))
    return refuse("a character in it must be encoded");
  const std::string rest = text.substr(kScheme.size());
  const std::size_t end = std::min(rest.find_first_of("/?#"), rest.size());
  Url url;
  url.authority = rest.substr(0, end);
  const std::string target = rest.substr(end, std::min(rest.find('#'), rest.size()) - end);
  url.target = target.starts_with('/') ? target : std::string("/").append(target);
  if (url.authority.find('@') != std::string::npos) return refuse("it must hold no password");
  const std::size_t bracket = url.authority.find(']');
  const std::size_t colon = url.authority.find(':', bracket == std::string::npos ? 0 : bracket + 1);
  url.host = url.authority.substr(0, colon);
  if (url.host.starts_with('[') && url.host.ends_with(']'))
    url.host = url.host.substr(1, url.host.size() - 2);
  if (url.host.empty()) return refuse("it names no host");
  if (colon == std::string::npos) return url;
  url.port = url.authority.substr(colon + 1);
  std::uint16_t number = 0;
  const char* const port_end = url.port.data() + url.port.size();
  const auto [after, failed] = std::from_chars(url.port.data(), port_end, number);
  if (failed != std::errc() || after != port_end || number == 0) return refuse("bad port");
  return url;
}

Result<std::string> receive_all(int fd, Clock::time_point deadline, const std::string& what) {
  std::string bytes;
  char chunk[16384];
  while (bytes.size() <= kMaxAnswer) {
    if (auto ready = wait_for(fd, POLLIN, deadline, what); !ready) return ready.error();
    const ssize_t got = ::recv(fd, chunk, sizeof chunk, 0);
    if (got == 0) return bytes;
    if (got < 0 && errno != EINTR && errno != EAGAIN) return last_error(what);
    if (got > 0) bytes.append(chunk, static_cast<std::size_t>(got));
  }
  return error_in_words(what + ": it is longer than 64 MiB");
}

// The announced length, when there is one; `head` ends with its last header's line end.
std::optional<std::size_t> content_length(std::string head) {
  std::transform(head.begin(), head.end(), head.begin(), lower);
  constexpr std::string_view kName = "\r\ncontent-length:";
  const std::size_t at = head.find(kName);
  if (at == std::string::npos) return std::nullopt;
  const char* begin = head.data() + at + kName.size();
  const char* const end = head.data() + head.size();
  while (begin != end && *begin == ' ') ++begin;
  std::size_t length = 0;
  if (std::from_chars(begin, end, length).ec != std::errc()) return std::nullopt;
  return length;
}

Result<Fetched> parse_answer(std::string bytes, const std::string& what) {
  const std::size_t head_end = bytes.find("\r\n\r\n");
  Fetched fetched;
  const std::size_t space = bytes.find(' ');
  const bool is_http =
      bytes.starts_with("HTTP/1.") && head_end != std::string::npos && space < head_end &&
      std::from_chars(bytes.data() + space + 1, bytes.data() + head_end, fetched.status).ec ==
          std::errc();
  if (!is_http) return error_in_words(what + ": it is no HTTP");
  const auto length = content_length(bytes.substr(0, head_end + 2));
  fetched.body = bytes.substr(head_end + 4);
  if (length && *length != fetched.body.size())
    return error_in_words(what + ": " + std::to_string(fetched.body.size()) + " of " +
                          std::to_string(*length) + " bytes came");
  return fetched;
}

std::string head_of(const char* method, const Url& url, const std::string& login) {
  std::string head = std::string(method) + " " + url.target +
                     " HTTP/1.0\r\nHost: " + url.authority + "\r\nConnection: close\r\n";
  if (!login.empty()) head += "Authorization: Basic " + encode_base64(login) + "\r\n";
  return head;
}

// Connects and asks; `request` is all that is sent.
Result<UniqueFd> ask(const Url& url, TcpDeadline deadline, const std::string& request) {
  auto fd = connect_tcp(url.host, url.port, deadline);
  if (!fd) return fd;
  if (auto sent = send_all(fd->get(), request, deadline,
                           "send the request to " + url.host + " port " + url.port);
      !sent)
    return sent.error();
  return fd;
}

Result<Fetched> exchange(const Url& url, std::chrono::milliseconds timeout,
                         const std::string& request) {
  const auto deadline = Clock::now() + timeout;
  const auto fd = ask(url, deadline, request);
  if (!fd) return fd.error();
  const std::string what = "read the answer of " + url.host + " port " + url.port;
  auto bytes = receive_all(fd->get(), deadline, what);
  if (!bytes) return std::move(bytes).error();
  return parse_answer(std::move(*bytes), what);
}

}  // namespace

Result<Fetched> fetch(const std::string& url_text, std::chrono::milliseconds timeout,
                      const std::string& login) {
  const auto url = parse_url(url_text);
  if (!url) return url.error();
  return exchange(*url, timeout, head_of("GET", *url, login) + "\r\n");
}

Result<Fetched> send_post(const HttpPost& post, std::chrono::milliseconds timeout) {
  const auto url = parse_url(post.url);
  if (!url) return url.error();
  std::string request = head_of("POST", *url, post.login);
  for (const auto& [name, value] : post.headers)
    request.append(name).append(": ").append(value).append("\r\n");
  request.append("Content-Type: ").append(post.content_type);
  request += "\r\nContent-Length: " + std::to_string(post.body.size()) + "\r\n\r\n";
  return exchange(*url, timeout, request + post.body);
}

Result<Fetched> follow(const std::string& url_text, const BodyReader& read,
                       std::chrono::milliseconds silence, const std::string& login) {
  const auto url = parse_url(url_text);
  if (!url) return url.error();
  const auto fd = ask(*url, Clock::now() + silence, head_of("GET", *url, login) + "\r\n");
  if (!fd) return fd.error();
  const std::string what = "read the answer of " + url->host + " port " + url->port;
  std::string head;
  bool in_body = false;
  while (true) {
    if (auto ready = wait_for(fd->get(), POLLIN, Clock::now() + silence, what); !ready)
      return ready.error();
    char chunk[16384];
    const ssize_t got = ::recv(fd->get(), chunk, sizeof chunk, 0);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) return last_error(what);
    if (got == 0 || head.size() > kMaxHead) break;
    std::string_view bytes(chunk, static_cast<std::size_t>(got));
    if (!in_body) {
      head += bytes;
      const std::size_t end = head.find("\r\n\r\n");
      // Of a refusal all that comes is the answer.
      if (end == std::string::npos || head.find(" 200 ") > head.find("\r\n")) continue;
      in_body = true;
      const std::string begin = head.substr(end + 4);
      head.resize(end + 4);
      if (!begin.empty() && !read(begin)) break;
    } else if (!read(bytes)) {
      break;
    }
  }
  if (in_body) return Fetched{200, ""};
  return parse_answer(std::move(head), what);
}

}  // namespace ioc_exporter
