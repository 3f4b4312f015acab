#include "web/connection.h"

#include <civetweb.h>

#include <algorithm>
#include <ctime>
#include <optional>
#include <string_view>

#include "base/ascii.h"
#include "web/client_address.h"
#include "web/compression.h"

namespace ioc_exporter::web {
namespace {

using Clock = std::chrono::steady_clock;

// Below that, compressed or not, the answer is one packet.
constexpr std::size_t kCompressFrom = 1024;
// civetweb has a time limit for progress, not for a whole write: so we write in pieces. A
// piece is as large as one transmission of TCP: each costs a system call, and often wakes the
// client. The last ones are small: the time of a slow client is over between two of them.
constexpr std::size_t kPiece = 64 * 1024;
constexpr std::size_t kSmallPiece = 16 * 1024;
// Up to this, a body is copied behind its head.
constexpr std::size_t kOnePacket = 16 * 1024;
constexpr std::size_t kMaxDrained = 8 * 1024;
constexpr std::chrono::milliseconds kDrainTime{500};
// Minimum rate at which a client must read: bytes per second, with some time for the first of them.
constexpr std::size_t kSlowestClient = 256 * 1024;
constexpr std::chrono::seconds kFirstOfIt{2};
constexpr std::chrono::seconds kPieceOfStream{10};

// All headers of that name, joined.
std::string header(const mg_request_info& info, std::string_view name) {
  std::string value;
  for (int i = 0; i < info.num_headers; ++i) {
    const mg_header& each = info.http_headers[i];
    if (mg_strcasecmp(each.name, name.data()) != 0) continue;
    if (!value.empty()) value += ", ";
    value += each.value;
  }
  return value;
}

bool has_body(const mg_request_info& info) {
  const std::string length = header(info, "Content-Length");
  return (!length.empty() && length != "0") || !header(info, "Transfer-Encoding").empty();
}

// RFC 9110, 5.6.7. No locale is set in this program.
std::string http_date() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &utc)};
}

struct Head {
  std::string_view coding;
  std::optional<std::size_t> body_size = 0;  // nothing: it ends with the connection
};

std::string head_text(mg_connection* connection, const Response& response, const Head& head) {
  std::string text = "HTTP/1.1 " + std::to_string(response.status) + " " +
                     mg_get_response_code_text(connection, response.status) + "\r\n";
  const auto add = [&](std::string_view name, std::string_view value) {
    text.append(name).append(": ").append(value).append("\r\n");
  };
  add("Date", http_date());
  add("Content-Type", response.content_type);
  if (head.body_size) add("Content-Length", std::to_string(*head.body_size));
  if (!head.coding.empty()) add("Content-Encoding", head.coding);
  add("Vary", response.vary);
  if (!response.allow.empty()) add("Allow", response.allow);
  // The pages show names that any client on the network may choose.
  std::map<std::string, std::string> more = {
      {"X-Content-Type-Options", "nosniff"},
      {"Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'"}};
  for (const auto& [name, value] : response.headers) more[name] = value;
  for (const auto& [name, value] : more)
    if (!value.empty()) add(name, value);
  add("Connection", "close");
  return text += "\r\n";
}

// Body to send: as it is, or compressed into `packed`.
std::string_view body_to_send(const Request& request, const Response& response,
                              std::optional<ByteBuffer>& packed, Head& head) {
  std::string_view body = response.body;
  if (response.shared_body) {
    body = response.shared_body->view();
    head.coding = response.content_encoding;
  } else if (body.size() >= kCompressFrom) {
    const Coding coding = best_coding(request.accept_encoding);
    packed = compress(body, coding);
    if (packed) {
      body = packed->view();
      head.coding = coding_name(coding);
    }
  }
  head.body_size = body.size();
  return body;
}

bool write_all(mg_connection* connection, std::string_view data, Clock::time_point deadline) {
  while (!data.empty()) {
    const std::size_t piece = std::min(data.size(), data.size() > kPiece ? kPiece : kSmallPiece);
    const int written = mg_write(connection, data.data(), piece);
    if (written < 0 || static_cast<std::size_t>(written) != piece) return false;
    data.remove_prefix(piece);
    if (!data.empty() && Clock::now() > deadline) return false;
  }
  return true;
}

// When a client should have all of an answer.
Clock::time_point deadline_of(std::size_t bytes, std::chrono::milliseconds timeout) {
  const std::chrono::milliseconds needed =
      kFirstOfIt + std::chrono::seconds(bytes / kSlowestClient);
  return Clock::now() + std::min(timeout, needed);
}

}  // namespace

Request read_request(const mg_connection* connection) {
  const mg_request_info& info = *mg_get_request_info(connection);
  return {info.request_method,
          info.local_uri,
          info.query_string ? info.query_string : "",
          header(info, "Accept"),
          header(info, "Accept-Encoding"),
          header(info, "Authorization"),
          header(info, "Origin"),
          header(info, "Host"),
          plain_address(info.remote_addr),
          header(info, "Sec-Fetch-Site")};
}

void drain_body(mg_connection* connection) {
  const mg_request_info& info = *mg_get_request_info(connection);
  if (!has_body(info)) return;
  // A client that waits for "100 Continue" has sent nothing, and will not when it sees our answer.
  const bool waits = !header(info, "Expect").empty();
  const auto deadline = Clock::now() + kDrainTime;
  // A byte each time: civetweb waits for all that it is asked for, however slowly that comes.
  char byte = 0;
  for (std::size_t total = 0; !waits && total < kMaxDrained && Clock::now() < deadline; ++total)
    if (mg_read(connection, &byte, 1) <= 0) break;
}

bool send_response(mg_connection* connection, const Request& request, Response response,
                   std::chrono::milliseconds timeout, const std::function<void()>& nearly_sent) {
  std::optional<ByteBuffer> packed;
  Head head;
  std::string_view body = body_to_send(request, response, packed, head);
  std::string last = head_text(connection, response, head);
  const auto deadline = deadline_of(last.size() + body.size(), timeout);
  if (request.method == "HEAD") body = {};
  if (last.size() + body.size() > kOnePacket) {
    const std::size_t first = body.size() - std::min(body.size(), kPiece);
    if (!write_all(connection, last, deadline) ||
        !write_all(connection, body.substr(0, first), deadline))
      return false;
    body.remove_prefix(first);
    last.clear();
  }
  last += body;  // a small body goes out in one packet with its head
  packed.reset();
  response = {};
  nearly_sent();
  return write_all(connection, last, deadline);
}

bool send_stream(mg_connection* connection, const Request& request, const Response& response,
                 const std::atomic<bool>& stopping) {
  Head head;
  head.body_size.reset();
  const std::string start = head_text(connection, response, head);
  if (!write_all(connection, start, Clock::now() + kFirstOfIt)) return false;
  if (request.method == "HEAD") return true;
  while (!stopping) {
    const std::optional<std::string> piece = response.stream->next();
    if (!piece) return true;
    if (!write_all(connection, *piece, deadline_of(piece->size(), kPieceOfStream))) return false;
  }
  return true;
}

}  // namespace ioc_exporter::web
