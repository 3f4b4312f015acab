#include "base/http_client.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/ascii.h"
#include "base/base64.h"
#include "base/tcp.h"
#include "base/tls_client.h"
#include "base/unique_fd.h"

namespace ioc_exporter {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxAnswer = 64 << 20, kMaxHead = 64 << 10;
// Largest answer to a POST that is read: a receiver must not fill our memory.
constexpr std::size_t kMaxPostAnswer = 16 << 10;

struct Url {
  bool tls = false;
  std::string host;  // without the brackets of an IPv6 address
  std::string port = "80";
  std::string target = "/";  // path and query
  std::string authority;     // as given
};

Result<Url> parse_url(const std::string& text) {
  const auto refuse = [&text](const char* why) {
    return error_in_words("read the URL \"" + text + "\": " + why);
  };
  Url url;
  url.tls = text.starts_with("https://");
  if (url.tls) url.port = "443";
  const std::string_view scheme = url.tls ? "https://" : "http://";
  if (!text.starts_with(scheme)) return refuse("it does not start with http:// or https://");
  if (std::any_of(text.begin(), text.end(), [](char c) { return c <= 0x20 || c == 0x7f; }))
    return refuse("a character in it must be encoded");
  const std::string rest = text.substr(scheme.size());
  const std::size_t end = std::min(rest.find_first_of("/?#"), rest.size());
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

// Bytes over a connected socket, with TLS or without.
class Line {
 public:
  Line(UniqueFd fd, Clock::time_point deadline) : fd_(std::move(fd)), deadline_(deadline) {}
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  Result<void> start_tls(const std::string& host, const TlsClientFiles& files) {
    auto tls = TlsClient::open(fd_.get(), host, files,
                               [this](short events) { return wait(events, "speak TLS"); });
    if (!tls) return tls.error();
    tls_ = std::move(*tls);
    return {};
  }

  void set_deadline(Clock::time_point deadline) { deadline_ = deadline; }

  Result<void> send(std::string_view bytes, const std::string& what) {
    if (tls_) return said(tls_->send(bytes), what);
    while (!bytes.empty()) {
      if (auto ready = wait(POLLOUT, what); !ready) return ready;
      const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno != EINTR && errno != EAGAIN) return last_error(what);
      if (sent > 0) bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return {};
  }

  // 0: that was all.
  Result<std::size_t> receive(std::span<char> bytes, const std::string& what) {
    if (tls_) return said(tls_->receive(bytes), what);
    while (true) {
      if (auto ready = wait(POLLIN, what); !ready) return ready.error();
      const ssize_t got = ::recv(fd_.get(), bytes.data(), bytes.size(), 0);
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno != EINTR && errno != EAGAIN) return last_error(what);
    }
  }

 private:
  template <class T>
  static Result<T> said(Result<T> result, const std::string& what) {
    if (result) return result;
    return error_in_words(what + ": " + result.error().message());
  }

  Result<void> wait(short events, const std::string& what) {
    return wait_for(fd_.get(), events, deadline_, what);
  }

  UniqueFd fd_;
  Clock::time_point deadline_;
  std::unique_ptr<TlsClient> tls_;
};

// `head`: from the end of the first line on, each header with its line end.
std::map<std::string, std::string> parse_headers(std::string_view head) {
  std::map<std::string, std::string> headers;
  while (!head.empty()) {
    const std::string_view line = head.substr(0, head.find("\r\n"));
    head.remove_prefix(std::min(head.size(), line.size() + 2));
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    std::string name(line.substr(0, colon));
    std::transform(name.begin(), name.end(), name.begin(), lower);
    std::string_view value = line.substr(colon + 1);
    while (value.starts_with(' ')) value.remove_prefix(1);
    while (value.ends_with(' ')) value.remove_suffix(1);
    headers[std::move(name)] = value;
  }
  return headers;
}

// The announced length, when there is one.
std::optional<std::size_t> content_length(const std::map<std::string, std::string>& headers) {
  const auto header = headers.find("content-length");
  if (header == headers.end()) return std::nullopt;
  const std::string& text = header->second;
  std::size_t length = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), length).ec != std::errc())
    return std::nullopt;
  return length;
}

// Of the final answer, whose head stands in `bytes` whole; nothing: it is no HTTP.
std::optional<Fetched> parse_head(std::string_view bytes) {
  Fetched fetched;
  const std::size_t space = bytes.find(' ');
  if (!bytes.starts_with("HTTP/1.") || space == std::string_view::npos ||
      std::from_chars(bytes.data() + space + 1, bytes.data() + bytes.size(), fetched.status).ec !=
          std::errc())
    return std::nullopt;
  fetched.headers = parse_headers(bytes);
  return fetched;
}

// 100 Continue, 103 Early Hints: another one follows.
bool is_interim(int status) {
  return status >= 100 && status < 200 && status != 101;
}

// Takes off the head of the final answer, and those of interim ones before it; `bytes` is what came
// after it, and is empty before.
Result<Fetched> receive_head(Line& line, std::string& bytes, const std::string& what) {
  std::size_t heads = 0, seen = 0;
  char chunk[16384];
  while (true) {
    const std::size_t end = bytes.find("\r\n\r\n", seen);
    if (heads + std::min(end, bytes.size()) > kMaxHead)
      return error_in_words(what + ": its head is longer than 64 KiB");
    if (end != std::string::npos) {
      auto head = parse_head(std::string_view(bytes).substr(0, end + 2));
      if (!head) return error_in_words(what + ": it is no HTTP");
      bytes.erase(0, end + 4);
      if (!is_interim(head->status)) return std::move(*head);
      heads += end + 4;
      seen = 0;
      continue;
    }
    seen = bytes.size() - std::min<std::size_t>(bytes.size(), 3);
    const auto got = line.receive(chunk, what);
    if (!got) return got.error();
    if (*got == 0) return error_in_words(what + ": it is no HTTP");
    bytes.append(chunk, *got);
  }
}

// `begin`: what of the body came with the head. `most`: what is behind that is not read.
Result<Fetched> receive_body(Line& line, Fetched answer, std::string begin, const std::string& what,
                             std::size_t most = SIZE_MAX) {
  const bool has_none = answer.status == 204 || answer.status == 304;
  auto length = has_none ? std::optional<std::size_t>(0) : content_length(answer.headers);
  if (length) *length = std::min(*length, most);
  answer.body = std::move(begin);
  char chunk[16384];
  while (answer.body.size() < length.value_or(most)) {
    if (answer.body.size() > kMaxAnswer || length.value_or(0) > kMaxAnswer)
      return error_in_words(what + ": it is longer than 64 MiB");
    const auto got = line.receive(chunk, what);
    if (!got) return got.error();
    if (*got == 0) break;
    answer.body.append(chunk, *got);
  }
  answer.body.resize(std::min(answer.body.size(), most));
  if (!length) return answer;
  if (answer.body.size() < *length)
    return error_in_words(what + ": " + std::to_string(answer.body.size()) + " of " +
                          std::to_string(*length) + " bytes came");
  answer.body.resize(*length);
  return answer;
}

std::string head_of(const char* method, const Url& url, const std::string& login) {
  std::string head = std::string(method) + " " + url.target +
                     " HTTP/1.0\r\nHost: " + url.authority + "\r\nConnection: close\r\n";
  if (!login.empty()) head += "Authorization: Basic " + encode_base64(login) + "\r\n";
  return head;
}

std::string where(const Url& url) {
  return url.host + " port " + url.port;
}

// Connects and asks; `request` is all that is sent.
Result<std::unique_ptr<Line>> ask(const Url& url, TcpDeadline deadline, const TlsClientFiles& files,
                                  const std::string& request) {
  auto fd = connect_tcp(url.host, url.port, deadline);
  if (!fd) return std::move(fd).error();
  auto line = std::make_unique<Line>(std::move(*fd), deadline);
  if (url.tls)
    if (auto shaken = line->start_tls(url.host, files); !shaken)
      return error_in_words("shake hands with " + where(url) + ": " + shaken.error().message());
  if (auto sent = line->send(request, "send the request to " + where(url)); !sent)
    return sent.error();
  return line;
}

Result<Fetched> exchange(const Url& url, std::chrono::milliseconds timeout,
                         const TlsClientFiles& files, const std::string& request,
                         std::size_t most = SIZE_MAX) {
  auto line = ask(url, Clock::now() + timeout, files, request);
  if (!line) return std::move(line).error();
  const std::string what = "read the answer of " + where(url);
  std::string bytes;
  auto head = receive_head(**line, bytes, what);
  if (!head) return head;
  return receive_body(**line, std::move(*head), std::move(bytes), what, most);
}

}  // namespace

Result<Fetched> fetch(const std::string& url_text, std::chrono::milliseconds timeout,
                      const FetchAs& as) {
  const auto url = parse_url(url_text);
  if (!url) return url.error();
  return exchange(*url, timeout, as.tls, head_of("GET", *url, as.login) + "\r\n");
}

Result<Fetched> send_post(const HttpPost& post, std::chrono::milliseconds timeout) {
  const auto url = parse_url(post.url);
  if (!url) return url.error();
  std::string request = head_of("POST", *url, post.as.login);
  for (const auto& [name, value] : post.headers)
    request.append(name).append(": ").append(value).append("\r\n");
  request.append("Content-Type: ").append(post.content_type);
  request += "\r\nContent-Length: " + std::to_string(post.body.size()) + "\r\n\r\n";
  return exchange(*url, timeout, post.as.tls, request + post.body, kMaxPostAnswer);
}

Result<Fetched> follow(const std::string& url_text, const BodyReader& read,
                       std::chrono::milliseconds silence, const FetchAs& as) {
  const auto url = parse_url(url_text);
  if (!url) return url.error();
  auto line = ask(*url, Clock::now() + silence, as.tls, head_of("GET", *url, as.login) + "\r\n");
  if (!line) return std::move(line).error();
  const std::string what = "read the answer of " + where(*url);
  std::string bytes;
  (*line)->set_deadline(Clock::now() + silence);
  auto head = receive_head(**line, bytes, what);
  if (!head) return head;
  if (head->status != 200) return receive_body(**line, std::move(*head), std::move(bytes), what);
  while (bytes.empty() || read(bytes)) {
    (*line)->set_deadline(Clock::now() + silence);
    char chunk[16384];
    const auto got = (*line)->receive(chunk, what);
    if (!got) return got.error();
    if (*got == 0) break;
    bytes.assign(chunk, *got);
  }
  return Fetched{200, ""};
}

}  // namespace ioc_exporter
