#include "http_client.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cctype>
#include <stdexcept>

#include "support/loopback.h"

namespace ioc_exporter::web {

HttpClient::HttpClient(std::uint16_t port, const std::string& host, const std::string& from) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* to = nullptr;
  if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &to) != 0) return;
  fd_.reset(::socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in own = loopback(0);
  if (!from.empty() && (::inet_pton(AF_INET, from.c_str(), &own.sin_addr) != 1 ||
                        ::bind(fd_.get(), reinterpret_cast<sockaddr*>(&own), sizeof own) != 0))
    fd_.reset();
  const timeval limit{60, 0};
  ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  if (::connect(fd_.get(), to->ai_addr, to->ai_addrlen) != 0) fd_.reset();
  ::freeaddrinfo(to);
}

void HttpClient::send(const std::string& bytes) {
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t n = ::send(fd_.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) return;
    sent += static_cast<std::size_t>(n);
  }
}

bool HttpClient::fill() {
  char chunk[16384];
  const ssize_t n = ::recv(fd_.get(), chunk, sizeof chunk, 0);
  if (n <= 0) return false;
  buffer_.append(chunk, static_cast<std::size_t>(n));
  return true;
}

Answer HttpClient::receive(bool head) {
  Answer answer;
  std::size_t end = 0;
  while ((end = buffer_.find("\r\n\r\n")) == std::string::npos)
    if (!fill()) return answer;
  std::string start = buffer_.substr(0, end + 2);
  buffer_.erase(0, end + 4);
  answer.status = std::stoi(start.substr(start.find(' ') + 1));
  for (std::size_t at = start.find("\r\n") + 2; at < start.size();) {
    const std::size_t line_end = start.find("\r\n", at), colon = start.find(": ", at);
    std::string name = start.substr(at, colon - at);
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    answer.headers[name] = start.substr(colon + 2, line_end - colon - 2);
    at = line_end + 2;
  }
  const auto length = answer.headers.find("content-length");
  const std::size_t size = head || length == answer.headers.end() ? 0 : std::stoul(length->second);
  while (buffer_.size() < size)
    if (!fill()) throw std::runtime_error("the body was cut short");
  answer.body = buffer_.substr(0, size);
  buffer_.erase(0, size);
  return answer;
}

bool HttpClient::closed_within(int milliseconds) {
  if (!buffer_.empty()) return false;
  pollfd poll_fd{fd_.get(), POLLIN, 0};
  return ::poll(&poll_fd, 1, milliseconds) == 1 && !fill();
}

Answer ask(std::uint16_t port, const std::string& method, const std::string& path,
           const std::string& headers, const std::string& from) {
  HttpClient client(port, "127.0.0.1", from);
  client.send(method + " " + path + " HTTP/1.1\r\nHost: test\r\n" + headers + "\r\n");
  return client.receive(method == "HEAD");
}

}  // namespace ioc_exporter::web
