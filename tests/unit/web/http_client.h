// A client on a raw socket for the tests: sends bytes, reads one answer.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/unique_fd.h"

namespace ioc_exporter::web {

struct Answer {
  int status = 0;                              // 0: the server closed without an answer
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;                            // as sent, perhaps compressed
};

class HttpClient {
 public:
  // `from`: another address of this host, "" = whichever.
  explicit HttpClient(std::uint16_t port, const std::string& host = "127.0.0.1",
                      const std::string& from = "");

  bool connected() const { return static_cast<bool>(fd_); }
  void send(const std::string& bytes);
  // Reads headers and Content-Length bytes (none for the answer to HEAD). 10 s at most.
  Answer receive(bool head = false);
  // Whether the server has closed, waiting for it up to `milliseconds`.
  bool closed_within(int milliseconds);

 private:
  bool fill();

  UniqueFd fd_;
  std::string buffer_;
};

// One request on a connection of its own. `headers` are whole lines.
Answer ask(std::uint16_t port, const std::string& method, const std::string& path,
           const std::string& headers = "", const std::string& from = "");

}  // namespace ioc_exporter::web
