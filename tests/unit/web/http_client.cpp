#include "http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cctype>
#include <stdexcept>

namespace ioc_exporter::web {
namespace {

UniqueFd connect_to(const sockaddr* address, socklen_t length, const sockaddr_in* from = nullptr) {
  UniqueFd fd(::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (from != nullptr && ::bind(fd.get(), reinterpret_cast<const sockaddr*>(from), sizeof *from))
    fd.reset();
  const timeval limit{60, 0};
  if (fd) ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  if (fd && ::connect(fd.get(), address, length) != 0) fd.reset();
  return fd;
}

}  // namespace

HttpClient::HttpClient(std::uint16_t port, const std::string& host) {
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(port);
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(port);
  if (::inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1) {
    fd_ = connect_to(reinterpret_cast<sockaddr*>(&v4), sizeof v4);
  } else if (::inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) == 1) {
    fd_ = connect_to(reinterpret_cast<sockaddr*>(&v6), sizeof v6);
  }
}

HttpClient HttpClient::from(const std::string& address, std::uint16_t port) {
  sockaddr_in own{}, to{};
  own.sin_family = to.sin_family = AF_INET;
  ::inet_pton(AF_INET, address.c_str(), &own.sin_addr);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(port);
  return HttpClient(connect_to(reinterpret_cast<sockaddr*>(&to), sizeof to, &own));
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
           const std::string& headers) {
  HttpClient client(port);
  client.send(method + " " + path + " HTTP/1.1\r\nHost: test\r\n" + headers + "\r\n");
  return client.receive(method == "HEAD");
}

Answer ask_from(const std::string& address, std::uint16_t port, const std::string& path) {
  HttpClient client = HttpClient::from(address, port);
  client.send("GET " + path + " HTTP/1.1\r\nHost: test\r\n\r\n");
  return client.receive();
}

}  // namespace ioc_exporter::web
