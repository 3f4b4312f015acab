#include "iocs/memory/reader_wire.h"

#include <array>

#include "base/socket_message.h"

namespace ioc_exporter::iocs {
namespace {

constexpr std::size_t kMostInMessage = kMostInPiece + 4096;

}  // namespace

bool send_message(int socket, std::span<const std::byte> head, std::string_view payload, int fd) {
  std::array<iovec, 2> parts = {{{const_cast<std::byte*>(head.data()), head.size()},
                                 {const_cast<char*>(payload.data()), payload.size()}}};
  return ioc_exporter::send_message(socket, parts, fd).has_value();
}

bool receive_message(int socket, std::string& into, UniqueFd& fd) {
  into.resize(kMostInMessage);
  const auto got =
      ioc_exporter::receive_message(socket, std::as_writable_bytes(std::span(into)), fd);
  if (!got) return false;
  into.resize(got->size);
  return !got->is_cut;
}

}  // namespace ioc_exporter::iocs
