#include "base/socket_message.h"

#include <sys/resource.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace ioc_exporter {
namespace {

// Room for one descriptor.
struct Control {
  alignas(cmsghdr) char bytes[CMSG_SPACE(sizeof(int))] = {};
};

}  // namespace

std::optional<std::size_t> send_message(int socket, std::span<iovec> parts, int file) {
  Control control;
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  if (file >= 0) {
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof control.bytes;
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof file);
    std::memcpy(CMSG_DATA(header), &file, sizeof file);
  }
  ssize_t sent = 0;
  do sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  if (sent < 0) return std::nullopt;
  return static_cast<std::size_t>(sent);
}

std::optional<ReceivedMessage> receive_message(int socket, std::span<std::byte> into,
                                               UniqueFd& file) {
  iovec part{into.data(), into.size()};
  Control control;
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof control.bytes;
  ssize_t got = 0;
  do got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  while (got < 0 && errno == EINTR);
  if (got <= 0) return std::nullopt;
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);  // there is room for one only
  if (header != nullptr && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
      header->cmsg_len == CMSG_LEN(sizeof(int))) {
    int passed = -1;
    std::memcpy(&passed, CMSG_DATA(header), sizeof passed);
    file.reset(passed);
  }
  return ReceivedMessage{static_cast<std::size_t>(got), (message.msg_flags & MSG_TRUNC) != 0,
                         (message.msg_flags & MSG_CTRUNC) != 0};
}

Result<void> check_room(const ReceivedMessage& message, UniqueFd& file) {
  rlimit limit{};
  // The kernel takes the lowest number that is free.
  const bool is_last = file && ::getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
                       static_cast<rlim_t>(file.get()) >= limit.rlim_cur - limit.rlim_cur / 4;
  if (!is_last && !message.has_lost_file) return {};
  file.reset();
  return error_from_errno(EMFILE, "take a descriptor, the remaining ones are for scrapes");
}

}  // namespace ioc_exporter
