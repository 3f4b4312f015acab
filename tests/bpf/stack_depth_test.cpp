// Stack of the probes' programs, together with all the functions that they call.
// Linux allows 512 bytes for a chain of calls and rounds each function up to 32. Since 6.13 (x86;
// later on others) it gives each function of such a program a stack of its own and counts no
// chains: there a program loads that 5.10 to 6.12 refuse ("combined stack size of 6 calls is 544.
// Too large"). So count here as they do.
#include <bpf/libbpf.h>
#include <gtest/gtest.h>
#include <linux/bpf.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "ca_server_probe.skel.h"
#include "functions.skel.h"
#include "kernel/uprobe.h"
#include "pva_server_probe.skel.h"
#include "shared/caps.h"
// After the types of its constants.
#include "record_process.skel.h"

namespace {

constexpr std::size_t kMost = 448;  // of 512: room for one more function
constexpr std::size_t kRoundedTo = 32;
constexpr std::uint32_t kLoggedBytes = 512;  // of values in the put log: it is on
constexpr std::uint32_t kSlots = 1024;       // 0: the verifier sees that none is taken

using Stack = std::vector<std::size_t>;  // a function each

std::size_t sum(const Stack& stack) {
  std::size_t bytes = 0;
  for (const std::size_t own : stack)
    bytes += (std::max<std::size_t>(own, 1) + kRoundedTo - 1) / kRoundedTo * kRoundedTo;
  return bytes;
}

std::string text(const Stack& stack) {
  std::ostringstream out;
  for (const std::size_t own : stack) out << (&own == stack.data() ? "" : "+") << own;
  return out.str();
}

// The function at each instruction where one starts, with its calls.
std::map<std::size_t, std::set<std::size_t>> calls_of(std::span<const bpf_insn> code) {
  std::map<std::size_t, std::set<std::size_t>> functions{{0, {}}};
  std::vector<std::pair<std::size_t, std::size_t>> calls;
  for (std::size_t i = 0; i < code.size(); ++i)
    if (code[i].code == (BPF_JMP | BPF_CALL) && code[i].src_reg == BPF_PSEUDO_CALL)
      calls.emplace_back(i, static_cast<std::size_t>(static_cast<long>(i) + 1 + code[i].imm));
  for (const auto& [from, to] : calls) functions[to];
  for (const auto& [from, to] : calls) std::prev(functions.upper_bound(from))->second.insert(to);
  return functions;
}

Stack deepest(const std::map<std::size_t, std::set<std::size_t>>& functions,
              const std::map<std::size_t, std::size_t>& own, std::size_t start) {
  Stack below;
  for (const std::size_t callee : functions.at(start)) {
    Stack stack = deepest(functions, own, callee);
    if (sum(stack) > sum(below)) below = std::move(stack);
  }
  below.insert(below.begin(), own.at(start));
  return below;
}

// "stack depth 96+32+24", a number for each function, is what the verifier says of a program that
// it has accepted.
Stack verified(const std::string& log) {
  constexpr std::string_view kBefore = "stack depth ";
  const std::size_t at = log.find(kBefore);
  Stack depths;
  if (at == std::string::npos) return depths;
  std::istringstream in(log.substr(at + kBefore.size()));
  for (std::size_t depth = 0; in >> depth;) {
    depths.push_back(depth);
    if (in.get() != '+') break;
  }
  return depths;
}

void expect_little_stack(bpf_object* object) {
  constexpr std::uint32_t kStatistics = 4;  // BPF_LOG_STATS
  std::map<bpf_program*, std::string> logs;
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object) {
    if (std::string_view(bpf_program__name(program)).ends_with("_all"))
      bpf_program__set_autoload(program, false);  // the same as the one for a process
    if (!bpf_program__autoload(program)) continue;
    std::string& log = logs[program];
    log.resize(1 << 16);
    bpf_program__set_log_level(program, kStatistics);
    bpf_program__set_log_buf(program, log.data(), log.size());
  }
  ASSERT_EQ(bpf_object__load(object), 0);
  for (const auto& [loaded, log] : logs) {
    SCOPED_TRACE(bpf_program__name(loaded));
    const auto functions = calls_of({bpf_program__insns(loaded), bpf_program__insn_cnt(loaded)});
    const Stack depths = verified(log);
    ASSERT_EQ(depths.size(), functions.size())
        << "functions that no setting here calls? " << log.c_str();
    std::map<std::size_t, std::size_t> own;
    for (const auto& [start, calls] : functions) own[start] = depths[own.size()];
    const Stack stack = deepest(functions, own, 0);
    EXPECT_LE(sum(stack), kMost) << text(stack) << " bytes";
  }
}

TEST(StackDepth, ProgramsOfProbesFitTheStackOfOlderKernels) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to load BPF programs";
  const auto& links = ioc_exporter::kernel::uprobe_link_type();
  record_process_bpf* records = record_process_bpf__open();
  ASSERT_NE(records, nullptr);
  std::memset(records->rodata, 1, sizeof *records->rodata);  // all that can be switched on
  records->rodata->cfg_cookies = links.has_value();
  expect_little_stack(records->obj);
  record_process_bpf__destroy(records);

  ca_server_probe_bpf* ca = ca_server_probe_bpf__open();
  ASSERT_NE(ca, nullptr);
  ca->rodata->cfg_slots = kSlots;
  ca->rodata->cfg_putlog_bytes = kLoggedBytes;
  ca->rodata->cfg_putlog_after = 1;
  ca->rodata->cfg_traces = 1;
  expect_little_stack(ca->obj);
  ca_server_probe_bpf__destroy(ca);

  pva_server_probe_bpf* pva = pva_server_probe_bpf__open();
  ASSERT_NE(pva, nullptr);
  pva->rodata->cfg_slots = kSlots;
  pva->rodata->cfg_putlog_bytes = kLoggedBytes;
  pva->rodata->cfg_traces = 1;
  expect_little_stack(pva->obj);
  pva_server_probe_bpf__destroy(pva);

  functions_bpf* functions = functions_bpf__open();
  ASSERT_NE(functions, nullptr);
  expect_little_stack(functions->obj);
  functions_bpf__destroy(functions);
}

}  // namespace
