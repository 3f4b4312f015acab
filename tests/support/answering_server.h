// A server on loopback that gives answers which are fixed beforehand, one to each connection, and
// keeps what it was asked.
#pragma once

#include <string>
#include <thread>
#include <vector>

#include "support/loopback.h"

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
      : answers_(std::move(answers)), thread_([this] { serve(); }) {}
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

  const UniqueFd listener_ = listener_on_loopback();
  const std::string url_ = "http://127.0.0.1:" + std::to_string(port_of(listener_));
  const std::vector<std::string> answers_;
  std::vector<std::string> requests_;
  std::thread thread_;
};

}  // namespace ioc_exporter
