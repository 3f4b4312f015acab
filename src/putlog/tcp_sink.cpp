#include "putlog/tcp_sink.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "base/http_client.h"
#include "putlog/json.h"

namespace ioc_exporter::putlog {
namespace {

constexpr std::size_t kAtATime = 64u << 10;
constexpr std::chrono::seconds kPatience{1}, kSilence{5};  // kPatience: of one delivery
constexpr std::chrono::milliseconds kPause{1000};          // the connection goes on by itself
constexpr int kForRoom = 100, kForAcknowledgement = 2;     // ms

// A receiver says nothing; that it has closed is seen here.
Result<void> look_for_end(int socket, const std::string& what) {
  char bytes[512];
  while (true) {
    const ssize_t got = ::recv(socket, bytes, sizeof bytes, MSG_DONTWAIT);
    if (got > 0) continue;
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return {};
    return got == 0 ? error_in_words(what + ": the receiver has closed the connection")
                    : Result<void>(last_error(what));
  }
}

}  // namespace

TcpSink::TcpSink(std::string host, std::string port, LineFormat format)
    : host_(std::move(host)),
      port_(std::move(port)),
      what_("send to " + host_ + " port " + port_),
      format_(format) {}

Result<void> TcpSink::connect() {
  if (socket_) return {};
  auto connected = connect_tcp(host_, port_, kPatience);
  if (!connected) return connected.error();
  socket_ = std::move(*connected);
  sent_ = 0;
  acknowledged_ = 0;
  progress_at_ = std::chrono::steady_clock::now();
  return {};
}

Result<TcpSink::Acknowledged> TcpSink::acknowledged() {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(socket_.get(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0)
    return last_error(what_);
  if (std::exchange(acknowledged_, info.tcpi_bytes_acked) != acknowledged_)
    progress_at_ = std::chrono::steady_clock::now();
  const bool all = sent_ == text_.size() && info.tcpi_unacked == 0 && info.tcpi_notsent_bytes == 0;
  return all ? Acknowledged::all : Acknowledged::part;
}

Result<TcpSink::Acknowledged> TcpSink::send_and_wait() {
  if (auto connected = connect(); !connected) return connected.error();
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < deadline) {
    if (auto there = look_for_end(socket_.get(), what_); !there) return there.error();
    pollfd entry{socket_.get(), POLLIN, 0};
    if (sent_ < text_.size()) {
      const ssize_t more = ::send(socket_.get(), text_.data() + sent_, text_.size() - sent_,
                                  MSG_NOSIGNAL | MSG_DONTWAIT);
      if (more < 0 && errno != EAGAIN && errno != EINTR) return last_error(what_);
      if (more > 0) sent_ += static_cast<std::size_t>(more);
      entry.events = POLLIN | POLLOUT;
      if (more <= 0) ::poll(&entry, 1, kForRoom);
      continue;
    }
    const auto now = acknowledged();
    if (!now || *now == Acknowledged::all) return now;
    ::poll(&entry, 1, kForAcknowledgement);
  }
  return acknowledged();
}

Sink::Delivered TcpSink::deliver(std::span<const Entry> entries) {
  Delivered done;
  while (done.entries < entries.size()) {
    if (entries_ == 0) {
      text_.clear();
      sent_ = 0;
      progress_at_ = std::chrono::steady_clock::now();
      for (const Entry& entry : entries.subspan(done.entries)) {
        if (text_.size() >= kAtATime) break;
        format_ == LineFormat::caputlog ? append_caputlog_json(text_, entry)
                                        : append_json(text_, entry);
        text_ += '\n';
        ++entries_;
      }
    }
    const auto sent = send_and_wait();
    if (!sent) {
      socket_.reset();
      done.problem = sent.error();
      return done;
    }
    if (*sent == Acknowledged::part) {  // slow, or it hangs; its host may have gone without a word
      if (std::chrono::steady_clock::now() - progress_at_ < kSilence) return done;
      done.problem = error_in_words(what_ + ": it takes nothing");
      done.pause = kPause;
      return done;
    }
    done.entries += std::exchange(entries_, 0);
  }
  return done;
}

}  // namespace ioc_exporter::putlog
