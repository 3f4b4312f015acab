#include "kernel/libbpf_support.h"

#include <bpf/bpf.h>
#include <sys/utsname.h>

#include <cstdarg>
#include <cstdio>
#include <string_view>

#include "base/log.h"

namespace ioc_exporter::kernel {
namespace {

thread_local std::string latest_warning;  // NOLINT: libbpf's callback carries no context

// The last line with text: of a verifier's log that is the one that says what was refused.
std::string last_line(std::string_view text) {
  std::string_view best;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    const bool is_statistics = line.starts_with("processed ") || line.starts_with("stack depth") ||
                               line.starts_with("-- END");
    if (line.find_first_not_of(" \t\r") != std::string_view::npos && !is_statistics) best = line;
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return std::string(best);
}

int on_message(libbpf_print_level level, const char* format, va_list args) {
  va_list again;
  va_copy(again, args);
  const int length = std::vsnprintf(nullptr, 0, format, again);
  va_end(again);
  if (length <= 0) return 0;
  std::string text(static_cast<std::size_t>(length) + 1, '\0');
  std::vsnprintf(text.data(), text.size(), format, args);
  text.pop_back();
  std::string_view line = text;
  while (!line.empty() && line.back() == '\n') line.remove_suffix(1);
  if (level == LIBBPF_WARN && !line.empty() && line.find("failed to load") == line.npos)
    latest_warning = last_line(line);
  log::debug("{}", line);
  return 0;
}

}  // namespace

void capture_libbpf_messages() {
  libbpf_set_print(on_message);
}

Error libbpf_error(int err, std::string context) {
  if (!latest_warning.empty()) context += " (" + std::exchange(latest_warning, {}) + ")";
  return error_from_errno(-err, std::move(context));
}

// Linux 6.1 brought it, and the type of map that is probed for. Before, a program at a uprobe that
// allocates makes the kernel warn (check_map_prog_compatibility() of kernel/bpf/verifier.c), which
// is a panic where kernel.panic_on_warn is set.
bool allocates_entries_on_demand() {
  utsname name{};
  if (::uname(&name) == 0 && std::string_view(name.version).find("PREEMPT_RT") != std::string::npos)
    return false;
  return libbpf_probe_bpf_map_type(BPF_MAP_TYPE_USER_RINGBUF, nullptr) == 1;
}

Result<void> size_map(bpf_map* map, std::uint32_t entries) {
  const int err = bpf_map__set_max_entries(map, entries);
  if (err < 0) return libbpf_error(err, std::string("size BPF map ") + bpf_map__name(map));
  return {};
}

Result<void> share_map(bpf_map* map, int fd, const char* object) {
  const int err = bpf_map__reuse_fd(map, fd);
  if (err < 0)
    return libbpf_error(err,
                        std::string("share BPF map ") + bpf_map__name(map) + " with " + object);
  return {};
}

Result<void> share_or_leave_out(std::span<const SharedMap> maps, bool on, const char* object) {
  for (const SharedMap& shared : maps) {
    if (on) {
      if (auto ok = share_map(shared.map, shared.fd, object); !ok) return ok;
    } else if (const int err = bpf_map__set_autocreate(shared.map, false); err < 0) {
      return libbpf_error(err, "leave out a BPF map");
    }
  }
  return {};
}

std::optional<ProgramStats> program_stats(const bpf_program* program) {
  return program_stats(bpf_program__fd(program));
}

std::optional<ProgramStats> object_stats(const bpf_object* object) {
  std::optional<ProgramStats> sum;
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object) add_stats(sum, program_stats(program));
  return sum;
}

std::optional<ProgramStats> program_stats(int program_fd) {
  bpf_prog_info info{};
  std::uint32_t length = sizeof info;
  if (bpf_obj_get_info_by_fd(program_fd, &info, &length) < 0) return std::nullopt;
  if (info.run_cnt == 0 && info.run_time_ns == 0) return std::nullopt;
  return ProgramStats{info.run_cnt, info.run_time_ns};
}

Result<void> map_memory(MapMemory& memory, const bpf_map* map) {
  const std::size_t bytes = std::size_t{bpf_map__max_entries(map)} * bpf_map__value_size(map);
  auto mapped =
      MapMemory::map(bpf_map__fd(map), bytes, bpf_map__name(map), MapMemory::Access::write);
  if (!mapped) return std::move(mapped).error();
  memory = std::move(*mapped);
  return {};
}

Result<void> map_caps(Caps& caps, const bpf_map* held,
                      const __u32 (&of_programs)[IOCX_CAPPED_TABLES]) {
  auto mapped =
      Caps::map(bpf_map__fd(held), bpf_map__max_entries(held), bpf_map__name(held), of_programs);
  if (!mapped) return std::move(mapped).error();
  caps = std::move(*mapped);
  return {};
}

}  // namespace ioc_exporter::kernel
