// TlsClient: the client's end of a TLS connection over a socket that is connected already, for the
// commands that ask a running exporter. TLS 1.2 at least; the server's certificate is checked
// against its name.
//
// A build with the civetweb of Debian 12 has no TLS: open() says so.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace ioc_exporter {

// Files in the PEM format.
struct TlsClientFiles {
  std::string authorities;       // signers of servers' certificates; "" = the host's
  std::string certificate, key;  // to show a server that asks; "" = none
};

class TlsClient {
 public:
  // Waits until the socket, which does not block, is ready for POLLIN or POLLOUT.
  using Wait = std::function<Result<void>(short events)>;

  // Whether this build has TLS.
  static bool is_there();

  // `host`: a name, or an address in figures. `fd` and what `wait` refers to outlive it.
  static Result<std::unique_ptr<TlsClient>> open(int fd, const std::string& host,
                                                 const TlsClientFiles& files, Wait wait);
  ~TlsClient();
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;

  Result<void> send(std::string_view bytes);
  // How many came; 0: the server says that this is all. A connection that merely ends is an error.
  Result<std::size_t> receive(std::span<char> bytes);

 private:
  struct State;
  explicit TlsClient(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace ioc_exporter
