// Attaches empty programs to a function and holds them until its stdin ends. PID -1: all processes.
//
// empty_probes FILE OFFSET PID: a uprobe and a uretprobe, by perf events
//
// empty_probes FILE OFFSET PID entry: a uprobe alone, attached as the exporter attaches its own
//
// empty_probes FILE OFFSET PID ends: the same, and one at each end of dbProcess
#include <bpf/libbpf.h>
#include <fcntl.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "elf/elf_symbols.h"
#include "elf/function_ends.h"
#include "empty_probes.skel.h"
#include "kernel/libbpf_support.h"
#include "kernel/uprobe.h"

namespace {

using namespace ioc_exporter;

struct Deleter {
  void operator()(empty_probes_bpf* object) const { empty_probes_bpf__destroy(object); }
};
using Skeleton = std::unique_ptr<empty_probes_bpf, Deleter>;
struct Detach {
  void operator()(bpf_link* link) const { bpf_link__destroy(link); }
};
using Link = std::unique_ptr<bpf_link, Detach>;

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "empty_probes: %s\n", what.c_str());
  std::exit(1);
}

std::vector<std::uint64_t> ends_of_process(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const std::string wanted[] = {"dbProcess", "dbProcess.cold"};
  const auto symbols = elf::ElfSymbols::read(file.get(), path, wanted);
  if (!symbols) die(symbols.error().message());
  std::vector<elf::CodeRange> parts;
  for (const std::string& name : wanted)
    if (const elf::ElfSymbol* const part = symbols->find(name); part && part->file_offset)
      parts.push_back({*part->file_offset, part->size});
  const auto found = elf::EndingFunction::find(file.get(), parts, elf::Work::indirect_call);
  if (!found) die("find where dbProcess ends in " + path + ": " + found.error().message());
  std::vector<std::uint64_t> offsets;
  for (const elf::FunctionEnd& end : (*found)->ends()) offsets.push_back(end.offset);
  return offsets;
}

// As RecordProcessObject does: links, or perf events where the kernel has no links.
std::vector<UniqueFd> attach(const bpf_program* program, kernel::UprobePlace place,
                             const std::vector<std::uint64_t>& offsets) {
  std::vector<UniqueFd> attached;
  const auto keep = [&](Result<UniqueFd> one) {
    if (!one) die(one.error().message());
    attached.push_back(std::move(*one));
  };
  const int fd = bpf_program__fd(program);
  if (const auto& type = kernel::uprobe_link_type()) {
    keep(kernel::attach_uprobes(fd, type, place, offsets, "dbProcess"));
    return attached;
  }
  for (const std::uint64_t offset : offsets) {
    place.offset = offset;
    keep(kernel::attach_uprobe(fd, place, "dbProcess"));
  }
  return attached;
}

void hold() {
  std::puts("attached");
  std::fflush(stdout);
  while (std::getchar() != EOF) continue;
}

void hold_entry(const kernel::UprobePlace& place, bool and_ends) {
  const Skeleton skeleton(empty_probes_bpf__open());
  if (!skeleton) die("open its programs");
  bpf_program__set_autoload(skeleton->progs.empty_return, false);
  if (const auto& type = kernel::uprobe_link_type())
    for (bpf_program* program : {skeleton->progs.empty_entry, skeleton->progs.empty_end})
      kernel::set_attach_type(program, *type);
  if (empty_probes_bpf__load(skeleton.get()) != 0) die("load its programs");
  std::vector<UniqueFd> ends;
  if (and_ends) ends = attach(skeleton->progs.empty_end, place, ends_of_process(place.path));
  const auto entry = attach(skeleton->progs.empty_entry, place, {place.offset});
  hold();
}

void hold_entry_and_return(const kernel::UprobePlace& place) {
  const Skeleton skeleton(empty_probes_bpf__open_and_load());
  if (!skeleton) die("load its programs");
  const auto attach = [&](const bpf_program* program, bool at_return) {
    LIBBPF_OPTS(bpf_uprobe_opts, options, .retprobe = at_return);
    Link link(bpf_program__attach_uprobe_opts(program, place.pid, place.path.c_str(), place.offset,
                                              &options));
    if (!link) die("attach to " + place.path + " failed");
    return link;
  };
  const Link at_entry = attach(skeleton->progs.empty_entry, false);
  const Link at_return = attach(skeleton->progs.empty_return, true);
  hold();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string how = argc == 5 ? argv[4] : "";
  if (argc < 4 || argc > 5 || (argc == 5 && how != "entry" && how != "ends")) {
    std::fputs("usage: empty_probes FILE OFFSET PID [entry|ends]\n", stderr);
    return 2;
  }
  const kernel::UprobePlace place{argv[1], std::strtoull(argv[2], nullptr, 10), std::atoi(argv[3])};
  if (how.empty())
    hold_entry_and_return(place);
  else
    hold_entry(place, how == "ends");
  return 0;
}
