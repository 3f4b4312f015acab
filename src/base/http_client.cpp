#include "base/http_client.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <string_view>

#include "base/ascii.h"
#include "base/base64.h"
#include "base/unique_fd.h"

namespace ioc_exporter {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxAnswer = 64 << 20;

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

// Waits until the socket is ready for `events`, or says why it will not be.
Result<void> wait_for(int fd, short events, Clock::time_point deadline, const std::string& what) {
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd entry{fd, events, 0};
    const int ready = ::poll(&entry, 1, static_cast<int>(std::max<long long>(left, 0)));
    if (ready > 0) return {};
    if (ready == 0) return error_from_errno(ETIMEDOUT, what);
    if (errno != EINTR) return last_error(what);
  }
}

Result<UniqueFd> connect_one(const addrinfo& address, Clock::time_point deadline,
                             const std::string& what) {
  UniqueFd fd(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return last_error(what);
  if (::connect(fd.get(), address.ai_addr, address.ai_addrlen) == 0) return fd;
  if (errno != EINPROGRESS) return last_error(what);
  if (auto ready = wait_for(fd.get(), POLLOUT, deadline, what); !ready) return ready.error();
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) return last_error(what);
  if (error != 0) return error_from_errno(error, what);
  return fd;
}

// To the first of the host's addresses that answers.
Result<UniqueFd> connect_to(const Url& url, Clock::time_point deadline) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failed = ::getaddrinfo(url.host.c_str(), url.port.c_str(), &hints, &found);
  if (failed != 0)
    return error_in_words("find the host " + url.host + ": " + ::gai_strerror(failed));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> list(found, &::freeaddrinfo);
  const std::string what = "connect to " + url.host + " port " + url.port;
  std::optional<Error> why;
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
    auto fd = connect_one(*address, deadline, what);
    if (fd) return fd;
    why = std::move(fd).error();
  }
  return why ? std::move(*why) : error_in_words(what + ": it has no address");
}

Result<void> send_all(int fd, std::string_view bytes, Clock::time_point deadline,
                      const std::string& what) {
  while (!bytes.empty()) {
    if (auto ready = wait_for(fd, POLLOUT, deadline, what); !ready) return ready;
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno != EINTR && errno != EAGAIN) return last_error(what);
    if (sent > 0) bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return {};
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

}  // namespace

Result<Fetched> fetch(const std::string& url_text, std::chrono::milliseconds timeout,
                      const std::string& login) {
  auto url = parse_url(url_text);
  if (!url) return std::move(url).error();
  const auto deadline = Clock::now() + timeout;
  auto fd = connect_to(*url, deadline);
  if (!fd) return std::move(fd).error();
  const std::string where = url->host + " port " + url->port;
  std::string request =
      "GET " + url->target + " HTTP/1.0\r\nHost: " + url->authority + "\r\nConnection: close\r\n";
  if (!login.empty()) request += "Authorization: Basic " + encode_base64(login) + "\r\n";
  request += "\r\n";
  if (auto sent = send_all(fd->get(), request, deadline, "send the request to " + where); !sent)
    return sent.error();
  const std::string what = "read the answer of " + where;
  auto bytes = receive_all(fd->get(), deadline, what);
  if (!bytes) return std::move(bytes).error();
  return parse_answer(std::move(*bytes), what);
}

}  // namespace ioc_exporter
