// Name of a container in its engine: found by the container's id in the path of a process'
// cgroup, and the files that are kept under that id by
//   the kubelet  /var/log/containers/POD_NAMESPACE_CONTAINER-ID.log, whatever the runtime
//   Docker       /var/lib/docker/containers/ID/config.v2.json
//   Podman       /var/lib/containers/storage/overlay-containers/containers.json (root's containers)
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/rooted_fs.h"

namespace ioc_exporter::iocs {

struct ContainerName {
  std::string pod;  // "" outside Kubernetes
  std::string container;

  bool operator==(const ContainerName&) const = default;
};

// Of the innermost container, 64 hexadecimal digits, from /proc/PID/cgroup; "" = in none.
std::string container_id(std::string_view cgroups);

// Both "" when nothing is known of that container. `starts`: it was started a moment ago. The
// kubelet writes its file down when the container runs already, so that nothing can be said for now
// then (is_for_now() in process_reader.h).
Result<ContainerName> container_name(const RootedFs& fs, const std::string& id, bool starts);

}  // namespace ioc_exporter::iocs
