// The program of bpf/ca/users.bpf.c in the kernel, which tells the tap which users of this host its
// clients are. Hides libbpf and the skeleton.
#pragma once

#include <cstdint>
#include <memory>

#include "base/helper.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "ca/tap_object.h"

namespace ioc_exporter::ca {

class CaUsersObject {
 public:
  // Loaded, not attached. Needs the kernel's BTF (kernel::has_btf()).
  static Result<CaUsersObject> load(const CaSharedMaps& maps);

  CaUsersObject(CaUsersObject&&) noexcept;
  CaUsersObject& operator=(CaUsersObject&&) noexcept;
  ~CaUsersObject();

  // To the tracepoint, unless it is.
  Result<void> attach();
  void detach();

  // HelperRequest::what of the one that is for serve().
  static constexpr std::uint32_t kRequest = 48;
  // From now on `helper` attaches, which is to call serve() and has the rights for it. Before
  // attach(): a helper has the descriptors of its maker.
  void use_helper(std::shared_ptr<Helper> helper);
  Result<UniqueFd> serve(const HelperRequest& request) const;

 private:
  struct Loaded;
  explicit CaUsersObject(std::unique_ptr<Loaded> loaded);
  Result<UniqueFd> attach_here() const;
  std::unique_ptr<Loaded> loaded_;
};

}  // namespace ioc_exporter::ca
