// One message over a Unix socket, with room for one descriptor beside it.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <optional>
#include <span>

#include "base/result.h"
#include "base/unique_fd.h"

namespace ioc_exporter {

// `file`: -1 for none. How many bytes were sent; nothing: errno says why none.
std::optional<std::size_t> send_message(int socket, std::span<iovec> parts, int file);

struct ReceivedMessage {
  std::size_t size = 0;        // of what stands in the part
  bool is_cut = false;         // it was longer
  bool has_lost_file = false;  // there was no room for its descriptor
};
// The descriptor that came with it is put into `file`, close-on-exec. Nothing: an error, or the
// other end is gone.
std::optional<ReceivedMessage> receive_message(int socket, std::span<std::byte> into,
                                               UniqueFd& file);

// The same as an error, also of one from which on descriptors are kept for scrapes: the last
// quarter. What came with each IOC would leave none. Then `file` is closed.
Result<void> check_room(const ReceivedMessage& message, UniqueFd& file);

}  // namespace ioc_exporter
