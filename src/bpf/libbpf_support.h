// What every user of libbpf in this folder shares: owners for its handles and words for its errors.
// Only included by the .cpp files of src/bpf.
#pragma once

#include <bpf/libbpf.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <string>

#include "bpf/program_stats.h"
#include "util/result.h"

namespace ioc_exporter::bpf {

struct LinkDeleter {
  void operator()(bpf_link* link) const { bpf_link__destroy(link); }
};
using LinkPtr = std::unique_ptr<bpf_link, LinkDeleter>;

// libbpf's own messages go to our log at debug level from now on; its latest warnings are kept for
// the error that libbpf_error() makes. Call once before the first object is opened.
void capture_libbpf_messages();

// An error from libbpf: `err` is a negative errno. Adds the last line of libbpf's latest warning or
// of the verifier's log where there is one, since the errno alone rarely tells the cause.
Error libbpf_error(int err, std::string context);

// Runs and run time of one loaded program; nothing while kernel.bpf_stats_enabled is 0.
std::optional<ProgramStats> program_stats(const bpf_program* program);

}  // namespace ioc_exporter::bpf
