// The program of bpf/ca/users.bpf.c in the kernel, which tells the tap which users of this host its
// clients are. Hides libbpf and the skeleton.
#pragma once

#include <memory>

#include "base/result.h"
#include "ca/tap_object.h"

namespace ioc_exporter::ca {

class CaUsersObject {
 public:
  // Loaded and attached: what it takes is given up later. Needs the kernel's BTF
  // (kernel::has_btf()).
  static Result<CaUsersObject> load(const CaSharedMaps& maps);

  CaUsersObject(CaUsersObject&&) noexcept;
  CaUsersObject& operator=(CaUsersObject&&) noexcept;
  ~CaUsersObject();

 private:
  struct Loaded;
  explicit CaUsersObject(std::unique_ptr<Loaded> loaded);
  std::unique_ptr<Loaded> loaded_;
};

}  // namespace ioc_exporter::ca
