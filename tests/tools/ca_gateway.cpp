// ca_gateway: a CA gateway as a host sees it: a program that derives its server from libcas and is
// a client by libca. It passes each connection on, from an address of its own.
//
//   ca_gateway SERVER_PORT ADDRESS
//
// Prints "@running PORT" with the port that it listens on; ends with its standard input.
#include <arpa/inet.h>
#include <cadef.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "modules/casdef.h"

namespace {

sockaddr_in place(const char* address, int port) {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(static_cast<std::uint16_t>(port));
  inet_pton(AF_INET, address, &at.sin_addr);
  return at;
}

int open_at(const sockaddr_in& at) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0 || ::bind(socket, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) {
    std::perror("ca_gateway: bind");
    std::exit(1);
  }
  return socket;
}

void pass_on(int from, int to) {
  char buffer[65536];
  for (;;) {
    const ssize_t got = ::recv(from, buffer, sizeof buffer, 0);
    if (got <= 0) break;
    for (ssize_t sent = 0; sent < got;) {
      const ssize_t more =
          ::send(to, buffer + sent, static_cast<std::size_t>(got - sent), MSG_NOSIGNAL);
      if (more <= 0) return;
      sent += more;
    }
  }
  ::shutdown(to, SHUT_WR);
}

class Gateway : public caServer {
 public:
  Gateway(int server_port, const char* address)
      : server_(place("127.0.0.1", server_port)), own_(place(address, 0)) {}
  void serve(int listener) const {
    for (;;) {
      const int client = ::accept(listener, nullptr, nullptr);
      if (client < 0) return;
      const int server = open_at(own_);
      if (::connect(server, reinterpret_cast<const sockaddr*>(&server_), sizeof server_) != 0)
        std::exit(1);
      std::thread(pass_on, client, server).detach();
      std::thread(pass_on, server, client).detach();
    }
  }

 private:
  sockaddr_in server_, own_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  // The real one has channels by libca instead.
  if (argc > 3) ca_create_channel(argv[3], nullptr, nullptr, 0, nullptr);
  const Gateway gateway(std::atoi(argv[1]), argv[2]);
  sockaddr_in at = place("127.0.0.1", 0);
  const int listener = open_at(at);
  socklen_t size = sizeof at;
  if (::listen(listener, 64) != 0 ||
      ::getsockname(listener, reinterpret_cast<sockaddr*>(&at), &size) != 0)
    return 1;
  std::thread([&] { gateway.serve(listener); }).detach();
  std::printf("@running %d\n", ntohs(at.sin_port));
  std::fflush(stdout);
  char byte = 0;
  while (::read(STDIN_FILENO, &byte, 1) > 0) {
  }
  std::_Exit(0);
}
