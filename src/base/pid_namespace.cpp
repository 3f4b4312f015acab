#include "base/pid_namespace.h"

namespace ioc_exporter {
namespace {

constexpr const char* kInitial = "pid:[4026531836]";  // PROC_PID_INIT_INO, linux/proc_ns.h

}  // namespace

Result<void> in_initial_pid_namespace(const RootedFs& fs, const std::string& action) {
  const auto own = fs.read_link("/proc/self/ns/pid");
  if (!own || *own == kInitial) return {};
  return error_in_words(action + ": the exporter runs in a pid namespace of its own (" + *own +
                        "); run it in the host's (docker run --pid=host)");
}

}  // namespace ioc_exporter
