#include "kernel/uprobe.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include <charconv>
#include <string_view>

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
  attr.config = place.at_return ? 1 : 0;  // .../uprobe/format/retprobe
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

namespace {

struct BtfDeleter {
  void operator()(btf* types) const { btf__free(types); }
};

// union bpf_attr, struct link_create with its member uprobe_multi (Linux 6.6, include/uapi/linux/
// bpf.h): Debian's headers are older.
struct LinkCreate {
  std::uint32_t prog_fd;
  std::uint32_t target_fd;
  std::uint32_t attach_type;
  std::uint32_t flags;
  std::uint64_t path;
  std::uint64_t offsets;
  std::uint64_t ref_ctr_offsets;
  std::uint64_t cookies;
  std::uint32_t cnt;
  std::uint32_t multi_flags;
  std::uint32_t pid;
  std::uint32_t pad;
};
static_assert(sizeof(LinkCreate) == 64);

UprobeLinkType find_link_type() {
  const std::unique_ptr<btf, BtfDeleter> types(btf__load_vmlinux_btf());
  if (!types) return std::nullopt;
  const std::int32_t id = btf__find_by_name_kind(types.get(), "bpf_attach_type", BTF_KIND_ENUM);
  if (id < 0) return std::nullopt;
  const btf_type* type = btf__type_by_id(types.get(), static_cast<std::uint32_t>(id));
  const struct btf_enum* values = btf_enum(type);  // the function hides the type
  UprobeLinkType found;
  bool has_sessions = false;
  for (std::uint32_t i = 0; i < btf_vlen(type); ++i) {
    const char* text = btf__name_by_offset(types.get(), values[i].name_off);
    const std::string_view name = text == nullptr ? "" : text;
    const auto number = static_cast<std::uint32_t>(values[i].val);
    if (name == "BPF_TRACE_UPROBE_MULTI") found = number;
    if (name == "BPF_TRACE_UPROBE_SESSION") has_sessions = true;
  }
  return has_sessions ? found : std::nullopt;
}

}  // namespace

// The kernel's BTF is read once: it has some megabytes.
const UprobeLinkType& uprobe_link_type() {
  static const UprobeLinkType type = find_link_type();
  return type;
}

Result<UniqueFd> attach_empty_uprobe(const UprobePlace& place) {
  const bpf_insn code[] = {{BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0},
                           {BPF_JMP | BPF_EXIT, 0, 0, 0, 0}};
  const UprobeLinkType& type = uprobe_link_type();
  LIBBPF_OPTS(bpf_prog_load_opts, options);
  if (type) options.expected_attach_type = static_cast<bpf_attach_type>(*type);
  const UniqueFd program(bpf_prog_load(BPF_PROG_TYPE_KPROBE, "empty_hit", "Dual BSD/GPL", code,
                                       std::size(code), &options));
  if (!program) return last_error("load an empty BPF program");
  const std::uint64_t offsets[] = {place.offset};
  return attach_uprobes(program.get(), type, place, offsets, "an empty program");
}

Result<int> program_fd(const bpf_object* object, const char* name) {
  const bpf_program* const found =
      name == nullptr ? nullptr : bpf_object__find_program_by_name(object, name);
  if (found != nullptr) return bpf_program__fd(found);
  return error_in_words(std::string("BPF object ") + bpf_object__name(object) + " has no program " +
                        (name == nullptr ? "for it" : name));
}

void set_attach_type(bpf_program* program, std::uint32_t attach_type) {
  bpf_program__set_expected_attach_type(program, static_cast<bpf_attach_type>(attach_type));
}

Result<UniqueFd> attach_uprobes(int program_fd, const UprobeLinkType& type,
                                const UprobePlace& place, std::span<const std::uint64_t> offsets,
                                const std::string& function, std::uint64_t cookie) {
  if (!type) return attach_uprobe(program_fd, place, function);
  const std::vector<std::uint64_t> cookies(offsets.size(), cookie);
  LinkCreate create{};
  create.prog_fd = static_cast<std::uint32_t>(program_fd);
  create.attach_type = *type;
  create.path = reinterpret_cast<std::uintptr_t>(place.path.c_str());
  create.offsets = reinterpret_cast<std::uintptr_t>(offsets.data());
  create.cookies = reinterpret_cast<std::uintptr_t>(cookies.data());
  create.cnt = static_cast<std::uint32_t>(offsets.size());
  create.pid = static_cast<std::uint32_t>(std::max(place.pid, 0));
  const long fd = ::syscall(SYS_bpf, BPF_LINK_CREATE, &create, sizeof create);
  if (fd >= 0) return UniqueFd(static_cast<int>(fd));
  return uprobe_error(place, function);
}

}  // namespace ioc_exporter::kernel
