// A server on loopback that gives answers which are fixed beforehand, one to each connection, and
// keeps what it was asked.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/unique_fd.h"

namespace ioc_exporter {

// `headers`: each with its line end.
inline std::string http_answer(int status, const std::string& body = "",
                               const std::string& headers = "") {
  return "HTTP/1.1 " + std::to_string(status) + " X\r\n" + headers +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

class AnsweringServer {
 public:
  explicit AnsweringServer(std::vector<std::string> answers)
      : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), answers_(std::move(answers)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listener_.get(), 1), 0);
    ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    thread_ = std::thread([this] { serve(); });
  }
  ~AnsweringServer() {
    if (thread_.joinable()) thread_.join();
  }
  AnsweringServer(const AnsweringServer&) = delete;
  AnsweringServer& operator=(const AnsweringServer&) = delete;

  const std::string& url() const { return url_; }
  // Whole, with their heads; waits until all answers are given.
  const std::vector<std::string>& requests() {
    if (thread_.joinable()) thread_.join();
    return requests_;
  }

 private:
  void serve() {
    for (const std::string& answer : answers_) {
      const UniqueFd stream(::accept(listener_.get(), nullptr, nullptr));
      std::string request;
      char bytes[4096];
      for (std::size_t length = SIZE_MAX; request.size() < length;) {
        const ssize_t got = ::recv(stream.get(), bytes, sizeof bytes, 0);
        if (got <= 0) return;
        request.append(bytes, static_cast<std::size_t>(got));
        const std::size_t end = request.find("\r\n\r\n"), at = request.find("Content-Length: ");
        if (end != std::string::npos) length = end + 4 + std::stoul(request.substr(at + 16));
      }
      ::send(stream.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
      requests_.push_back(std::move(request));
    }
  }

  UniqueFd listener_;
  const std::vector<std::string> answers_;
  std::vector<std::string> requests_;
  std::string url_;
  std::thread thread_;
};

}  // namespace ioc_exporter
