#include "iocs/reader_wire.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>

namespace ioc_exporter::iocs {
namespace {

constexpr std::size_t kMostInMessage = kMostInPiece + 4096;

union Control {
  char bytes[CMSG_SPACE(sizeof(int))];
  cmsghdr align;
};

}  // namespace

bool send_message(int socket, std::span<const std::byte> head, std::string_view payload, int fd) {
  std::array<iovec, 2> parts = {{{const_cast<std::byte*>(head.data()), head.size()},
                                 {const_cast<char*>(payload.data()), payload.size()}}};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  Control control{};
  if (fd >= 0) {
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof control.bytes;
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  }
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent >= 0;
}

bool receive_message(int socket, std::string& into, UniqueFd& fd) {
  into.resize(kMostInMessage);
  iovec part{into.data(), into.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  Control control{};
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof control.bytes;
  ssize_t got = 0;
  do {
    got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got <= 0) return false;
  into.resize(static_cast<std::size_t>(got));
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    int passed = -1;
    std::memcpy(&passed, CMSG_DATA(header), sizeof passed);
    fd.reset(passed);
  }
  return (message.msg_flags & MSG_TRUNC) == 0;
}

}  // namespace ioc_exporter::iocs
