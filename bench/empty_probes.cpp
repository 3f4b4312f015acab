// Attaches an empty uprobe and uretprobe to dbProcess and holds them until its stdin ends.
//
//   empty_probes FILE OFFSET PID [entry]     PID -1: all processes; entry: no uretprobe
#include <bpf/libbpf.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "empty_probes.skel.h"

namespace {

bpf_link* attach(const bpf_program* program, bool at_return, char** argv) {
  LIBBPF_OPTS(bpf_uprobe_opts, options, .retprobe = at_return);
  return bpf_program__attach_uprobe_opts(program, std::atoi(argv[3]), argv[1],
                                         std::strtoull(argv[2], nullptr, 10), &options);
}

}  // namespace

int main(int argc, char** argv) {
  const bool entry_only = argc == 5 && std::string(argv[4]) == "entry";
  if (argc != 4 && !entry_only) {
    std::fputs("usage: empty_probes FILE OFFSET PID [entry]\n", stderr);
    return 2;
  }
  empty_probes_bpf* skeleton = empty_probes_bpf__open_and_load();
  if (skeleton == nullptr) return 1;
  bpf_link* at_entry = attach(skeleton->progs.empty_entry, false, argv);
  bpf_link* at_return = entry_only ? nullptr : attach(skeleton->progs.empty_return, true, argv);
  if (at_entry == nullptr || (at_return == nullptr && !entry_only)) {
    std::fprintf(stderr, "empty_probes: attach to %s failed\n", argv[1]);
    return 1;
  }
  std::puts("attached");
  std::fflush(stdout);
  while (std::getchar() != EOF) continue;
  bpf_link__destroy(at_return);
  bpf_link__destroy(at_entry);
  empty_probes_bpf__destroy(skeleton);
  return 0;
}
