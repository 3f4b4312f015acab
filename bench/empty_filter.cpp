// A packet socket on all interfaces whose filter only returns 0: the floor below which no tap can
// come.
//
//   empty_filter     prints "attached", and stays until the end of its stdin
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <iterator>

#include "base/unique_fd.h"

namespace {

int fail(const char* action) {
  std::perror(action);
  return 1;
}

}  // namespace

int main() {
  using ioc_exporter::UniqueFd;
  const bpf_insn program[] = {{BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0},
                              {BPF_JMP | BPF_EXIT, 0, 0, 0, 0}};
  const UniqueFd filter(bpf_prog_load(BPF_PROG_TYPE_SOCKET_FILTER, "empty_filter", "GPL", program,
                                      std::size(program), nullptr));
  if (!filter) return fail("load a filter that returns 0");
  const UniqueFd socket(::socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return fail("open a packet socket");
  const int fd = filter.get();
  if (::setsockopt(socket.get(), SOL_SOCKET, SO_ATTACH_BPF, &fd, sizeof fd) != 0)
    return fail("attach the filter");
  sockaddr_ll everywhere{};
  everywhere.sll_family = AF_PACKET;
  everywhere.sll_protocol = htons(ETH_P_ALL);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&everywhere), sizeof everywhere) != 0)
    return fail("bind the packet socket");
  std::puts("attached");
  std::fflush(stdout);
  char byte;
  while (::read(STDIN_FILENO, &byte, 1) > 0) {
  }
  return 0;
}
