#include "ca/users_object.h"

#include <cerrno>
#include <utility>

#include "ca_users.skel.h"
#include "kernel/libbpf_support.h"

namespace ioc_exporter::ca {

struct CaUsersObject::Loaded {
  struct Deleter {
    void operator()(ca_users_bpf* object) const { ca_users_bpf__destroy(object); }
  };
  std::unique_ptr<ca_users_bpf, Deleter> skeleton;
};

CaUsersObject::CaUsersObject(std::unique_ptr<Loaded> loaded) : loaded_(std::move(loaded)) {}
CaUsersObject::CaUsersObject(CaUsersObject&&) noexcept = default;
CaUsersObject& CaUsersObject::operator=(CaUsersObject&&) noexcept = default;
CaUsersObject::~CaUsersObject() = default;

Result<CaUsersObject> CaUsersObject::load(const CaSharedMaps& maps) {
  kernel::capture_libbpf_messages();
  auto loaded = std::make_unique<Loaded>();
  loaded->skeleton.reset(ca_users_bpf__open());
  if (!loaded->skeleton) return kernel::libbpf_error(-errno, "open BPF object ca_users");
  if (auto ok = kernel::share_map(loaded->skeleton->maps.ca_users, maps.users, "ca_users"); !ok)
    return ok.error();
  if (const int err = ca_users_bpf__load(loaded->skeleton.get()); err < 0)
    return kernel::libbpf_error(err, "load BPF object ca_users");
  if (const int err = ca_users_bpf__attach(loaded->skeleton.get()); err < 0)
    return kernel::libbpf_error(err, "attach to the tracepoint inet_sock_set_state");
  return CaUsersObject(std::move(loaded));
}

}  // namespace ioc_exporter::ca
