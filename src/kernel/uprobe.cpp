#include "kernel/uprobe.h"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

#include "base/rooted_fs.h"

namespace ioc_exporter::kernel {
namespace {

constexpr const char* kTypeFile = "/sys/bus/event_source/devices/uprobe/type";

// The kernel's number for uprobes. Asked once, at the first probe.
const Result<std::uint32_t>& uprobe_type() {
  static const Result<std::uint32_t> type = []() -> Result<std::uint32_t> {
    auto text = RootedFs().read(kTypeFile);
    if (!text) return std::move(text).error();
    std::uint32_t number = 0;
    if (std::from_chars(text->data(), text->data() + text->size(), number).ec == std::errc())
      return number;
    return error_in_words("read " + std::string(kTypeFile) + ": \"" + *text + "\"");
  }();
  return type;
}

}  // namespace

std::string uprobe_text(const std::string& function, const std::string& file, std::int32_t pid) {
  return function + " in " + file + (pid > 0 ? " (pid " + std::to_string(pid) + ")" : "");
}

Error uprobe_error(const UprobePlace& place, const std::string& function) {
  return last_error("attach uprobe " + uprobe_text(function, place.path, place.pid));
}

Result<UniqueFd> attach_uprobe(int program_fd, const UprobePlace& place,
                               const std::string& function) {
  const auto& type = uprobe_type();
  if (!type) return type.error();
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = *type;
  attr.uprobe_path = reinterpret_cast<std::uintptr_t>(place.path.c_str());
  attr.probe_offset = place.offset;
  const int cpu = place.pid < 0 ? 0 : -1;
  UniqueFd event(static_cast<int>(
      ::syscall(SYS_perf_event_open, &attr, place.pid, cpu, -1, PERF_FLAG_FD_CLOEXEC)));
  if (!event) return uprobe_error(place, function);
  // A link (Linux 5.15) holds its event; before, the event holds the program.
  const int link = bpf_link_create(program_fd, event.get(), BPF_PERF_EVENT, nullptr);
  if (link < 0 && ::ioctl(event.get(), PERF_EVENT_IOC_SET_BPF, program_fd) != 0)
    return uprobe_error(place, function);
  UniqueFd attached(link);
  if (::ioctl(event.get(), PERF_EVENT_IOC_ENABLE, 0) != 0) return uprobe_error(place, function);
  return attached ? std::move(attached) : std::move(event);
}

}  // namespace ioc_exporter::kernel
