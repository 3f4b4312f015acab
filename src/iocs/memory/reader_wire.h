// Messages between a ReaderPool and its readers, over a socket of type SOCK_SEQPACKET: a request,
// then the answer in one or more pieces. Both ends are the same program. Bytes of a hostile file
// are payload only, never a length.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/helper.h"
#include "base/result.h"
#include "base/socket_message.h"
#include "base/unique_fd.h"

namespace ioc_exporter::iocs {

inline constexpr std::size_t kMostInPiece = 64u << 10;

enum class ReaderOp : std::uint32_t {
  open_memory,   // payload: IocId
  read_memory,   // a: address, b: bytes; answer: the bytes
  gather,        // a: bytes each; payload: addresses; answer: the bytes
  text,          // a: limit; payload: path; answer: pieces
  statuses,      // payload: paths, each with a zero byte; answer: FileStatus of each
  open,          // a: pid; payload: path; answer: a descriptor
  symbols,       // with a descriptor; payload: path; answer: pieces
  base_version,  // with a descriptor; payload: LoadSegments; answer: the version
  functions,     // with a descriptor; payload: FunctionWish of each; answer: pieces
};

struct ReaderRequest {
  ReaderOp op{};
  std::uint32_t pad = 0;
  std::uint64_t a = 0;
  std::uint64_t b = 0;
};

struct ReaderAnswer {
  std::uint32_t ok = 0;
  std::uint32_t error = 0;  // errno, 0 = the payload says it all
  std::uint32_t more = 0;   // another piece follows
  std::uint32_t pad = 0;
};

// One message, `head` before `payload`. An fd below 0: none. False: the other side is gone.
template <class Head>
bool send_message(int socket, const Head& head, std::string_view payload, int fd = -1) {
  std::array<iovec, 2> parts = {{{const_cast<Head*>(&head), sizeof head},
                                 {const_cast<char*>(payload.data()), payload.size()}}};
  return ioc_exporter::send_message(socket, parts, fd).has_value();
}

// The same back: `into` gets all of it. Nothing: the other side is gone, or there is no message.
inline std::optional<ReceivedMessage> receive_message(int socket, std::string& into, UniqueFd& fd) {
  into.resize(kMostInPiece + 4096);
  const auto got =
      ioc_exporter::receive_message(socket, std::as_writable_bytes(std::span(into)), fd);
  if (!got || got->is_cut) return std::nullopt;
  into.resize(got->size);
  return got;
}

// Reader processes, on the side of those who fork them. A reader answers requests (reader_wire.h)
// until its socket is closed, and may be killed at any moment.

enum class ReaderProcessRequest : std::uint32_t {
  fork = 48,  // with a descriptor: the reader's socket; answer: a pidfd
  kill,       // with a descriptor: the pidfd
};
inline bool is_reader_request(const HelperRequest& request) {
  return request.what == static_cast<std::uint32_t>(ReaderProcessRequest::fork) ||
         request.what == static_cast<std::uint32_t>(ReaderProcessRequest::kill);
}

// In the helper process. `confine` is called in the reader, before it reads anything; null: nothing
// is given up.
Result<UniqueFd> serve_reader_request(const HelperRequest& request, const UniqueFd& file,
                                      const std::function<Result<void>()>& confine);

}  // namespace ioc_exporter::iocs
