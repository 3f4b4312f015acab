#include "ca/users_object.h"

#include <bpf/bpf.h>

#include <cerrno>
#include <utility>

#include "ca_users.skel.h"
#include "kernel/libbpf_support.h"

namespace ioc_exporter::ca {
namespace {

constexpr const char* kTracepoint = "inet_sock_set_state";

}  // namespace

struct CaUsersObject::Loaded {
  struct Deleter {
    void operator()(ca_users_bpf* object) const { ca_users_bpf__destroy(object); }
  };
  std::unique_ptr<ca_users_bpf, Deleter> skeleton;
  UniqueFd link;
  std::shared_ptr<Helper> helper;
};

CaUsersObject::CaUsersObject(std::unique_ptr<Loaded> loaded) : loaded_(std::move(loaded)) {}
CaUsersObject::CaUsersObject(CaUsersObject&&) noexcept = default;
CaUsersObject& CaUsersObject::operator=(CaUsersObject&&) noexcept = default;
CaUsersObject::~CaUsersObject() = default;

Result<CaUsersObject> CaUsersObject::load(const CaSharedMaps& shared) {
  kernel::capture_libbpf_messages();
  auto loaded = std::make_unique<Loaded>();
  loaded->skeleton.reset(ca_users_bpf__open());
  if (!loaded->skeleton) return kernel::libbpf_error(-errno, "open BPF object ca_users");
  const auto& maps = loaded->skeleton->maps;
  if (auto ok = kernel::share_map(maps.ca_users, shared.users, "ca_users"); !ok) return ok.error();
  if (auto ok = kernel::share_map(maps.ca_users_early, shared.users_early, "ca_users_early"); !ok)
    return ok.error();
  if (auto ok = kernel::share_map(maps.ca_watched, shared.watched, "ca_watched"); !ok)
    return ok.error();
  if (const int err = ca_users_bpf__load(loaded->skeleton.get()); err < 0)
    return kernel::libbpf_error(err, "load BPF object ca_users");
  return CaUsersObject(std::move(loaded));
}

Result<void> CaUsersObject::attach() {
  if (loaded_->link) return {};
  auto link = loaded_->helper ? loaded_->helper->ask({.what = kRequest}) : attach_here();
  if (!link) return std::move(link).error();
  loaded_->link = std::move(*link);
  return {};
}

void CaUsersObject::detach() {
  loaded_->link.reset();
}

Result<UniqueFd> CaUsersObject::attach_here() const {
  const int fd =
      bpf_raw_tracepoint_open(kTracepoint, bpf_program__fd(loaded_->skeleton->progs.ca_user));
  if (fd < 0)
    return kernel::libbpf_error(fd, std::string("attach to the tracepoint ") + kTracepoint);
  return UniqueFd(fd);
}

void CaUsersObject::use_helper(std::shared_ptr<Helper> helper) {
  loaded_->helper = std::move(helper);
}

Result<UniqueFd> CaUsersObject::serve(const HelperRequest& request) const {
  if (request.what != kRequest) return error_in_words("attach: no such request");
  return attach_here();
}

}  // namespace ioc_exporter::ca
