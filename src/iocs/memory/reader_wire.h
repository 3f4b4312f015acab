// How a ReaderPool talks to its readers: over a socket of type SOCK_SEQPACKET, one request, then
// one answer or several pieces of it. Both ends are the same program; what a reader was told by a
// hostile file lies in the bytes only, never in a length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/result.h"
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

// One message, `head` before `payload`. An fd below 0: none. False: nobody is there.
bool send_message(int socket, std::span<const std::byte> head, std::string_view payload,
                  int fd = -1);
// The same back: `into` gets all of it. False: nobody is there, or no message.
bool receive_message(int socket, std::string& into, UniqueFd& fd);

// Values one after the other, as they lie in memory.
class Packer {
 public:
  template <class T>
  void add(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void add(std::string_view text) {
    add(text.size());
    bytes_.append(text);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : bytes_(bytes) {}
  template <class T>
  std::optional<T> take() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    if (bytes_.size() < sizeof value) return {};
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_.remove_prefix(sizeof value);
    return value;
  }
  std::optional<std::string> text() {
    const auto size = take<std::size_t>();
    if (!size || bytes_.size() < *size) return {};
    std::string text(bytes_.substr(0, *size));
    bytes_.remove_prefix(*size);
    return text;
  }
  std::string_view rest() const { return bytes_; }

 private:
  std::string_view bytes_;
};

}  // namespace ioc_exporter::iocs
