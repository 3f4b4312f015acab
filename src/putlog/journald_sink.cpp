#include "putlog/journald_sink.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "exposition/label_text.h"
#include "putlog/filter.h"
#include "putlog/in_words.h"
#include "putlog/json.h"

namespace ioc_exporter::putlog {
namespace {

constexpr int kRoom = 256 << 10;                      // the kernel doubles it
constexpr char kWarning = '4', kInformational = '6';  // as of syslog(3)

void append_field(std::string& out, std::string_view name, std::string_view value) {
  if (value.empty()) return;
  out += name;
  if (value.find('\n') == std::string_view::npos) {
    out.append("=").append(value).append("\n");
    return;
  }
  out += '\n';
  for (unsigned byte = 0; byte < 8; ++byte)
    out += static_cast<char>(static_cast<std::uint64_t>(value.size()) >> (8 * byte) & 0xff);
  out.append(value).append("\n");
}

std::string json_of(const std::optional<Value>& value) {
  std::string text;
  if (value) append_json_value(text, *value);
  return text;
}

}  // namespace

std::string journal_fields(const Entry& entry) {
  const PutEvent& event = *entry.event;
  const std::string value = json_of(event.value), old = json_of(event.old);
  std::string out;
  append_field(out, "MESSAGE", in_words(event));
  append_field(out, "PRIORITY", std::string(1, is_unexpected(event) ? kWarning : kInformational));
  append_field(out, "SYSLOG_IDENTIFIER", "ioc_exporter-puts");
  append_field(out, "EPICS_TIME", time_text(event.time));
  append_field(out, "EPICS_SEQ", std::to_string(event.seq));
  for (const auto& [name, text] : {std::pair{"EPICS_IOC", &event.ioc},
                                   {"EPICS_SERVER", &event.server},
                                   {"EPICS_CLIENT", &event.client},
                                   {"EPICS_USER", &event.user},
                                   {"EPICS_CLIENT_HOST", &event.client_host},
                                   {"EPICS_PV", &event.pv},
                                   {"EPICS_OP", &event.op},
                                   {"EPICS_TYPE", &event.type},
                                   {"EPICS_STATUS", &event.status},
                                   {"EPICS_RULE", &event.rule},
                                   {"EPICS_ACTION", &event.action}})
    append_field(out, name, exposition::utf8_safe(*text));
  append_field(out, "EPICS_VALUE", value);
  append_field(out, "EPICS_OLD", old);
  if (!event.type.empty() || event.value)
    append_field(out, "EPICS_COUNT", std::to_string(event.count));
  if (event.seconds) append_field(out, "EPICS_SECONDS", std::to_string(*event.seconds));
  if (entry.burst) append_field(out, "EPICS_BURST", std::to_string(entry.puts));
  return out;
}

Sink::Delivered JournaldSink::deliver(std::span<const Entry> entries) {
  Delivered done;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path_.copy(address.sun_path, sizeof address.sun_path - 1);
  if (!socket_) {
    socket_ = UniqueFd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (socket_) ::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDBUF, &kRoom, sizeof kRoom);
  }
  while (done.entries < entries.size()) {
    const std::string fields = journal_fields(entries[done.entries]);
    const ssize_t sent =
        ::sendto(socket_.get(), fields.data(), fields.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                 reinterpret_cast<const sockaddr*>(&address), sizeof address);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) return done;  // it reads slowly
    if (sent < 0) {
      const bool too_large = errno == EMSGSIZE || errno == ENOBUFS;
      done.problem = last_error("send to the journal at " + path_);
      if (too_large && done.entries == 0) done.refused = 1;
      return done;
    }
    ++done.entries;
  }
  return done;
}

}  // namespace ioc_exporter::putlog
