#include "app/helpers.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <utility>
#include <vector>

#include "app/confinement.h"
#include "app/privileges.h"
#include "app/rooms.h"
#include "app/sandbox.h"
#include "base/http_client.h"
#include "base/log.h"
#include "base/rooted_fs.h"
#include "functions/functions_object.h"
#include "iocs/memory/reader_wire.h"
#include "kernel/hit_cost.h"

namespace ioc_exporter::app {
namespace {

// Closes files that the exporter has opened besides sockets and BPF objects.
void close_files() {
  const RootedFs fs;
  const auto names = fs.list("/proc/self/fd");
  if (!names) return;
  for (const std::string& name : *names) {
    const auto target = fs.read_link("/proc/self/fd/" + name);
    if (const int fd = std::atoi(name.c_str()); target && target->front() == '/' && fd > 2)
      ::close(fd);
  }
}

// In the helper. `user`: "" is the exporter's own.
std::function<Result<void>()> drop_to(const Options& options, std::vector<cap_value_t> capabilities,
                                      const SandboxOptions& sandbox, const std::string& user = {}) {
  Privileges keep = options.privileges;
  if (!user.empty()) keep.user = user;
  keep.capabilities = std::move(capabilities);
  return [keep, sandbox, sandboxed = options.sandbox]() -> Result<void> {
    if (auto left = drop_privileges(keep); !left) return std::move(left).error();
    return sandboxed ? enter_sandbox(sandbox) : Result<void>();
  };
}

// In the helper, while it has all that the exporter was started with. Perf events ask for
// CAP_SYS_ADMIN, on kernels since the middle of 2025; links of uprobes do without. Whether this
// kernel's do is tried.
std::vector<cap_value_t> rights_to_attach(const Options& options,
                                          const std::vector<elf::Attacher*>& attachers) {
  std::vector<cap_value_t> rights = readers_privileges(options.privileges).capabilities;
  rights.insert(rights.end(), {CAP_NET_RAW, CAP_BPF, CAP_PERFMON});
  Result<void> tried;
  const bool links = std::ranges::all_of(attachers, &elf::Attacher::has_links);
  const auto alone = with_only(rights, [&tried] { tried = kernel::try_uprobe_link(); });
  if (links && alone && tried) return rights;
  rights.push_back(CAP_SYS_ADMIN);
  const Result<void>& failed = alone ? tried : alone;
  log::info("ioc_exp-attach keeps CAP_SYS_ADMIN: {}",
            failed ? "programs for links are not loaded" : failed.error().message());
  return rights;
}

std::function<Result<void>()> close_and(std::function<Result<void>()> confine) {
  return [confine = std::move(confine)] {
    close_files();
    return confine();
  };
}

}  // namespace

// First: each helper that is forked later has the descriptors that are open by then, and would keep
// the packet socket open.
Result<std::shared_ptr<Helper>> start_attach_helper(Rooms& rooms, const Options& options) {
  puts::PacketTap* const tap = rooms.puts.packet_tap();
  std::vector<elf::Attacher*> attachers = rooms.puts.attachers();
  if (records::RecordProcess* const records = rooms.records.process())
    attachers.push_back(&records->attacher());
  const auto functions = std::make_shared<functions::FunctionsServer>();
  const auto confine_reader = [&options] {
    return confine_readers(options.privileges, options.sandbox);
  };
  const auto confine = close_and([&options, attachers] {
    return drop_to(options, rights_to_attach(options, attachers), {.readers = true})();
  });
  auto attach = Helper::start(
      {"ioc_exp-attach",
       [confine] {
         const auto limited = limit_memory(kMostMemoryOfReader);  // the readers inherit it
         return limited ? confine() : limited;
       },
       [confine_reader, functions, attachers, tap](const HelperRequest& request,
                                                   const UniqueFd& file) -> Result<UniqueFd> {
         if (iocs::is_reader_request(request))
           return iocs::serve_reader_request(request, file, confine_reader);
         if (tap != nullptr && puts::PacketTap::is_request(request)) return tap->serve(request);
         if (functions->serves(request)) return functions->serve(request, file);
         for (const elf::Attacher* const attacher : attachers)
           if (attacher->serves(request)) return attacher->serve(request, file);
         return error_in_words("there is nothing that serves this request");
       },
       // Attaching waits for the file, and for the memory of each process that maps it.
       [](const HelperRequest& request) {
         return !iocs::is_reader_request(request) && !puts::PacketTap::is_request(request) &&
                !functions::FunctionsServer::loads(request);
       }});
  if (!attach) return attach;
  for (elf::Attacher* const attacher : attachers) attacher->use_helper(*attach);
  rooms.functions.use_helper(*attach);
  auto packets = (*attach)->open_channel();
  if (!packets) return std::move(packets).error();
  if (tap != nullptr) tap->use_helper(*packets);
  auto readers = (*attach)->open_channel();
  if (!readers) return std::move(readers).error();
  rooms.readers->use_helper(*readers);
  return attach;
}

Result<std::unique_ptr<delivery::Process>> start_delivery(putlog::Outlets* puts,
                                                          traces::Outlets* traces,
                                                          const Options& options) {
  delivery::Process::Work work;
  std::vector<std::string> folders;
  bool receivers = false;
  const auto add = [&](auto* outlets) {
    if (outlets == nullptr || !outlets->has_sinks()) return;
    receivers |= outlets->has_receivers();
    work.cargo.push_back(outlets);
    folders.insert(folders.end(), outlets->folders().begin(), outlets->folders().end());
  };
  add(puts);
  add(traces);
  if (work.cargo.empty()) return std::unique_ptr<delivery::Process>();
  std::string user;
  if (!folders.empty()) {
    const auto owner = delivery::owner_of(folders);
    if (!owner) return owner.error();
    // A process of the same user could end it, or write to its files.
    if (*owner != 0 && *owner != ::geteuid() && !is_own_user(*owner, options.privileges))
      return error_in_words("deliver to files in " + folders.front() + ": it belongs to user " +
                            std::to_string(*owner) + ", not to root or the exporter's own user");
    user = std::to_string(*owner);
  }
  SandboxOptions sandbox{.probes = false, .packets = false, .folders = folders};
  work.confine = [sandbox, sandboxed = options.sandbox] {
    return sandboxed ? enter_sandbox(sandbox) : Result<void>();
  };
  sandbox.readers = true;  // one child
  work.confine_keeper = [receivers, confine = close_and(drop_to(options, {}, sandbox, user))] {
    const auto ready = receivers ? prepare_http_client() : Result<void>();
    return ready ? confine() : ready;
  };
  return delivery::Process::start(work);
}

}  // namespace ioc_exporter::app
