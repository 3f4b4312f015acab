// How an IOC gets its name, the label `ioc`.
//
// Sources are asked in order, the first that gives a name wins: env:VARIABLE (/proc/PID/environ, as
// it was at exec), script (start_script.h), procserv (supervisor.h), exe (the executable's base
// name, also when no source gives one), container and pod (ContainerName). Default: env:IOCNAME,
// env:IOC_NAME, env:IOC, script, procserv, exe. A name is printable UTF-8 of at most 128 bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/rooted_fs.h"
#include "iocs/memory/process_reader.h"

namespace ioc_exporter::iocs {

// Name of a container in its engine: found by the container's id in the path of a process'
// cgroup, and the files that are kept under that id by
//   the kubelet  /var/log/containers/POD_NAMESPACE_CONTAINER-ID.log, whatever the runtime
//   Docker       /var/lib/docker/containers/ID/config.v2.json
//   Podman       /var/lib/containers/storage/overlay-containers/containers.json (root's containers)
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

struct NameSource {
  enum class Kind { environment, script, procserv, executable, container, pod };
  Kind kind = Kind::executable;
  std::string variable;  // environment only

  std::string text() const;  // as parse_name_source() reads it
  bool operator==(const NameSource&) const = default;
};

std::vector<NameSource> default_name_sources();

// A word as above: "env:IOC", "script", "exe". The error names a word that is none of them.
Result<NameSource> parse_name_source(const std::string& word);

// Name of the process `pid`, which `thread` of it shows, with the executable `executable` (as the
// process sees it). `starts`: it was started a moment ago. Not unique yet. An error: what tells
// cannot be read for now (is_for_now); what never can says nothing.
Result<std::string> ioc_name(const RootedFs& fs, ProcessReader& reader, pid_t pid, pid_t thread,
                             const std::string& executable, const std::vector<NameSource>& sources,
                             bool starts = false);

}  // namespace ioc_exporter::iocs
