#include "kernel/uprobe_session.h"

#include <bpf/btf.h>
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <string_view>

namespace ioc_exporter::kernel {
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

}  // namespace

std::optional<std::uint32_t> uprobe_session_type() {
  const std::unique_ptr<btf, BtfDeleter> types(btf__load_vmlinux_btf());
  if (!types) return std::nullopt;
  const std::int32_t id = btf__find_by_name_kind(types.get(), "bpf_attach_type", BTF_KIND_ENUM);
  if (id < 0) return std::nullopt;
  const btf_type* type = btf__type_by_id(types.get(), static_cast<std::uint32_t>(id));
  const struct btf_enum* values = btf_enum(type);  // the function hides the type
  for (std::uint32_t i = 0; i < btf_vlen(type); ++i) {
    const char* name = btf__name_by_offset(types.get(), values[i].name_off);
    if (name != nullptr && std::string_view(name) == "BPF_TRACE_UPROBE_SESSION")
      return static_cast<std::uint32_t>(values[i].val);
  }
  return std::nullopt;
}

Result<UniqueFd> attach_uprobe_session(int program_fd, std::uint32_t attach_type,
                                       const std::string& function, const std::string& path,
                                       std::uint64_t offset, std::int32_t pid) {
  LinkCreate create{};
  create.prog_fd = static_cast<std::uint32_t>(program_fd);
  create.attach_type = attach_type;
  create.path = reinterpret_cast<std::uintptr_t>(path.c_str());
  create.offsets = reinterpret_cast<std::uintptr_t>(&offset);
  create.cnt = 1;
  create.pid = static_cast<std::uint32_t>(pid);
  const long fd = ::syscall(SYS_bpf, BPF_LINK_CREATE, &create, sizeof create);
  if (fd >= 0) return UniqueFd(static_cast<int>(fd));
  return last_error("attach uprobe session " + function + " in " + path +
                    (pid > 0 ? " (pid " + std::to_string(pid) + ")" : ""));
}

}  // namespace ioc_exporter::kernel
