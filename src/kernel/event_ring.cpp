#include "kernel/event_ring.h"

#include <bpf/bpf.h>
#include <poll.h>

#include <thread>

#include "base/log.h"
#include "base/unique_fd.h"
#include "kernel/libbpf_support.h"

namespace ioc_exporter::kernel {
namespace {

// How long events lie in the ring where there are few.
constexpr std::chrono::milliseconds kPause{50};

}  // namespace

struct EventRing::Opened {
  struct Deleter {
    void operator()(ring_buffer* opened) const { ring_buffer__free(opened); }
  };
  UniqueFd fd;
  std::uint32_t size = 0;
  std::unique_ptr<ring_buffer, Deleter> ring;  // before the descriptor
  const Each* each = nullptr;                  // while it is read
  std::size_t left = 0;

  // A result other than 0 stops the reading; this event has been taken then.
  static int take(void* self, void* data, std::size_t length) {
    auto* const opened = static_cast<Opened*>(self);
    try {
      (*opened->each)({static_cast<const std::byte*>(data), length});
    } catch (...) {
      return -ENOMEM;
    }
    return --opened->left == 0 ? -ECANCELED : 0;
  }
};

EventRing::EventRing(std::unique_ptr<Opened> opened) : opened_(std::move(opened)) {}
EventRing::EventRing(EventRing&&) noexcept = default;
EventRing& EventRing::operator=(EventRing&&) noexcept = default;
EventRing::~EventRing() = default;

Result<EventRing> EventRing::create(const char* name, std::uint32_t bytes) {
  capture_libbpf_messages();
  auto opened = std::make_unique<Opened>();
  const int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, name, 0, 0, bytes, nullptr);
  if (fd < 0) return libbpf_error(fd, "make a ring buffer of " + std::to_string(bytes) + " bytes");
  opened->fd.reset(fd);
  opened->size = bytes;
  opened->ring.reset(ring_buffer__new(fd, &Opened::take, opened.get(), nullptr));
  if (!opened->ring) return libbpf_error(-errno, "open the ring buffer");
  return EventRing(std::move(opened));
}

int EventRing::fd() const {
  return opened_->fd.get();
}

std::uint32_t EventRing::size() const {
  return opened_->size;
}

std::size_t EventRing::most_events(std::size_t bytes) const {
  return opened_->size / (bytes + BPF_RINGBUF_HDR_SZ) + 1;
}

Result<void> EventRing::wait(std::chrono::milliseconds patience) const {
  pollfd waiting{ring_buffer__epoll_fd(opened_->ring.get()), POLLIN, 0};
  if (::poll(&waiting, 1, static_cast<int>(patience.count())) < 0 && errno != EINTR)
    return last_error("wait for the ring buffer");
  return {};
}

void EventRing::serve(const std::stop_token& stop, std::size_t least,
                      const std::function<bool(std::size_t* rest)>& read_some) const {
  TroubleLog trouble;
  while (!stop.stop_requested()) {
    trouble.report("wait for events", wait(kPause));
    while (read_some(nullptr) && !stop.stop_requested()) {
    }
    // Events that arrived meanwhile are read at the next wake-up.
    std::this_thread::sleep_for(kPause / 10);
  }
  // Reads events up to now only: a flood goes on.
  std::size_t rest = most_events(least);
  while (read_some(&rest)) {
  }
}

Result<std::size_t> EventRing::read(std::size_t most, const Each& each) {
  opened_->each = &each;
  opened_->left = most;
  const int result = ring_buffer__consume(opened_->ring.get());
  opened_->each = nullptr;
  if (result < 0 && result != -ECANCELED) return libbpf_error(result, "read the ring buffer");
  return most - opened_->left;
}

}  // namespace ioc_exporter::kernel
