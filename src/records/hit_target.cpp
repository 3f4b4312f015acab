#include "records/hit_target.h"

#include <fcntl.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <ctime>
#include <optional>
#include <utility>

#include "base/wall_clock.h"

// Begins as nearly every compiled function does: a breakpoint's cost depends on the instruction
// that it replaces. Before it returns it jumps, as most do somewhere: there is its end.
#if defined(__x86_64__)
asm(R"(
  .pushsection .text
  .p2align 4
  .globl ioc_exporter_hit_target
  .type ioc_exporter_hit_target, @function
ioc_exporter_hit_target:
  push %rbp
  pop %rbp
  jmp 1f
1:
  ret
  .globl ioc_exporter_hit_target_end
ioc_exporter_hit_target_end:
  .size ioc_exporter_hit_target, . - ioc_exporter_hit_target
  .popsection
)");
#elif defined(__aarch64__)
asm(R"(
  .pushsection .text
  .p2align 4
  .globl ioc_exporter_hit_target
  .type ioc_exporter_hit_target, %function
ioc_exporter_hit_target:
  stp x29, x30, [sp, #-16]!
  ldp x29, x30, [sp], #16
  ret
  .globl ioc_exporter_hit_target_end
ioc_exporter_hit_target_end:
  .size ioc_exporter_hit_target, . - ioc_exporter_hit_target
  .popsection
)");
#endif

extern "C" void ioc_exporter_hit_target(void* record);
extern "C" const char ioc_exporter_hit_target_end[];

namespace ioc_exporter::records {
namespace {

constexpr int kTargetPatienceMs = 2000;
// Records as in Base 7.0 on LP64, as far as dbProcess' first look goes: neither active nor
// disabled.
constexpr std::uint32_t kRecords = HitTarget::kRecords;
constexpr std::size_t kRecordSize = 1024;
constexpr std::uint16_t kDisv = 266, kDisa = 268, kSdis = 272, kStat = 410, kSevr = 412,
                        kPact = 505;

alignas(64) char records[kRecords][kRecordSize];  // the child has its own copy

// From now on that system call ends the process.
bool forbid(long system_call) {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(system_call), 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{4, filter};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// The child: only what is allowed after a fork.
[[noreturn]] void serve(int in, int out, long forbidden) {
  if (forbidden != HitTarget::kNoneForbidden && !forbid(forbidden)) ::_exit(1);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::prctl(PR_SET_NAME, "hit-cost");
  for (auto& record : records) record[kDisv] = 1;
  std::uint32_t calls = 0;
  while (::read(in, &calls, sizeof calls) == sizeof calls) {
    const std::uint64_t start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (std::uint32_t i = 0; i < calls; ++i) ioc_exporter_hit_target(records[i % kRecords]);
    const std::uint64_t took = clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
    if (::write(out, &took, sizeof took) != sizeof took) break;
  }
  ::_exit(0);
}

// Where in this program's file the function is.
std::optional<std::uint64_t> offset_in_file() {
  struct Search {
    std::uint64_t address;
    std::optional<std::uint64_t> offset;
  } search{reinterpret_cast<std::uint64_t>(&ioc_exporter_hit_target), {}};
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        auto& wanted = *static_cast<Search*>(data);
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& segment = info->dlpi_phdr[i];
          const std::uint64_t start = info->dlpi_addr + segment.p_vaddr;
          if (segment.p_type == PT_LOAD && wanted.address >= start &&
              wanted.address < start + segment.p_filesz)
            wanted.offset = wanted.address - start + segment.p_offset;
        }
        return 1;  // the first object is the program itself
      },
      &search);
  return search.offset;
}

}  // namespace

HitTarget::HitTarget(pid_t pid, UniqueFd to_child, UniqueFd from_child, std::uint64_t offset)
    : pid_(pid),
      to_child_(std::move(to_child)),
      from_child_(std::move(from_child)),
      offset_(offset) {}

HitTarget::HitTarget(HitTarget&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      to_child_(std::move(other.to_child_)),
      from_child_(std::move(other.from_child_)),
      offset_(other.offset_) {}

HitTarget::~HitTarget() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
}

Result<HitTarget> HitTarget::start(long forbidden) {
  const auto offset = offset_in_file();
  if (!offset) return error_in_words("find the exporter's own code in its file: no such segment");
  int down[2], up[2];
  if (::pipe2(down, O_CLOEXEC) != 0) return last_error("make a pipe to a child process");
  UniqueFd child_in(down[0]), to_child(down[1]);
  if (::pipe2(up, O_CLOEXEC) != 0) return last_error("make a pipe from a child process");
  UniqueFd from_child(up[0]), child_out(up[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return last_error("fork a child process to measure probes on");
  if (pid == 0) serve(child_in.get(), child_out.get(), forbidden);
  return HitTarget(pid, std::move(to_child), std::move(from_child), *offset);
}

Result<RecordTarget> HitTarget::target() const {
  RecordTarget target;
  target.pid = pid_;
  target.path = "/proc/" + std::to_string(pid_) + "/exe";
  UniqueFd own(::open(target.path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!own) return last_error("open " + target.path);
  const auto size = reinterpret_cast<std::uint64_t>(ioc_exporter_hit_target_end) -
                    reinterpret_cast<std::uint64_t>(&ioc_exporter_hit_target);
  const std::vector<iocs::CodeRange> function{{offset_, size}};
  auto code = iocs::CodeFile::open(std::move(own), target.path, function);
  if (!code) return std::move(code).error();
  auto ending = EndingFunction::find((*code)->fd(), function);
  if (!ending) return std::move(ending).error();
  target.ending = std::move(*ending);
  target.code = std::move(*code);
  target.offset = offset_;
  target.disv = kDisv;
  target.disa = kDisa;
  target.sdis = kSdis;
  target.stat = kStat;
  target.sevr = kSevr;
  target.pact = kPact;
  target.records = kRecords;
  return target;
}

Result<double> HitTarget::call(std::uint32_t calls) {
  const std::string action = "time " + std::to_string(calls) + " calls in a child process";
  if (::write(to_child_.get(), &calls, sizeof calls) != sizeof calls) return last_error(action);
  pollfd answer{from_child_.get(), POLLIN, 0};
  const int ready = ::poll(&answer, 1, kTargetPatienceMs);
  if (ready < 0) return last_error(action);
  std::uint64_t took = 0;
  if (ready == 0 || ::read(from_child_.get(), &took, sizeof took) != sizeof took)
    return error_in_words(action + ": no answer");
  return static_cast<double>(took) * 1e-9 / calls;
}

}  // namespace ioc_exporter::records
