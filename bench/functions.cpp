// What a described function's call costs, at 100,000 calls a second: with nothing attached, with
// empty programs, and as it is counted and timed. Ways are interleaved; medians. functions [ROUNDS]
// [SECONDS]
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "empty_probes.skel.h"
#include "functions/watch.h"
#include "kernel/libbpf_support.h"
#include "kernel/uprobe.h"

// A small function as compilers make them: its first instruction is a push, its end a jump away.
#if defined(__x86_64__)
asm(".pushsection .text\n.globl driver_probed\n.type driver_probed, @function\n.p2align 4\n"
    "driver_probed:\n push %rbp\n mov %rsp, %rbp\n xor %eax, %eax\n jmp 1f\n nop\n"
    "1: pop %rbp\n ret\n.size driver_probed, . - driver_probed\n.popsection");
#else
asm(".pushsection .text\n.globl driver_probed\n.type driver_probed, %function\n.p2align 4\n"
    "driver_probed:\n stp x29, x30, [sp, #-16]!\n mov x0, #0\n ldp x29, x30, [sp], #16\n ret\n"
    ".size driver_probed, . - driver_probed\n.popsection");
#endif
extern "C" int driver_probed(void* port, int reason);

namespace {

using namespace ioc_exporter;
using namespace ioc_exporter::functions;
using Clock = std::chrono::steady_clock;

struct Port {
  long unused = 0;
  char name[32] = "PORT1";
};
Port port;

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "functions: %s\n", what.c_str());
  std::exit(1);
}

// Bursts of a hundred calls, a thousand a second. The median burst, ns a call.
double measure(double seconds) {
  std::vector<double> bursts;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  for (auto next = Clock::now(); next < end; next += std::chrono::milliseconds(1)) {
    std::this_thread::sleep_until(next);
    const auto start = Clock::now();
    for (int i = 0; i < 100; ++i) driver_probed(&port, i & 3);
    bursts.push_back(std::chrono::duration<double, std::nano>(Clock::now() - start).count() / 100);
  }
  std::ranges::nth_element(bursts, bursts.begin() + static_cast<std::ptrdiff_t>(bursts.size() / 2));
  return bursts[bursts.size() / 2];
}

struct Described {
  explicit Described(FunctionsObject& object, const std::string& more)
      : descriptions(std::make_shared<const Descriptions>(*parse_functions(
            "functions:\n  - {name: probed, file: .*/functions, symbol: driver_probed" + more +
                "}\n",
            "bench"))),
        watch(object, descriptions, budget) {
    const WatchedIoc self{{::getpid(), 1}, 1, 1, "bench"};
    FunctionFinder finder(std::make_shared<iocs::ProcessReader>(RootedFs()), descriptions);
    auto found = finder.find(self.id, {});
    if (!found) die(found.error().message());
    watch.follow({self});
    watch.take(self.id, 1, std::move(*found));
    watch.tick(Clock::now());
    if (watch.attachments() == 0) die("nothing was attached");
  }
  std::shared_ptr<const Descriptions> descriptions;
  probes::Budget budget{0};
  FunctionWatch watch;
};

// Attached as described functions are, for all processes: at the entry, and at the jump before the
// end.
struct Empty {
  explicit Empty(bool pair) {
    const UniqueFd self(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
    const auto found = elf::find_functions(
        self.get(), "it",
        std::vector{elf::FunctionWish{elf::FunctionWish::Kind::name, "driver_probed", 0}});
    if (!found || found->found.empty()) die("driver_probed is not in this file");
    const elf::CodeRange code = found->found[0].code;
    skeleton.reset(empty_probes_bpf__open());
    const auto& type = kernel::uprobe_link_type();
    bpf_program__set_autoload(skeleton->progs.empty_return, false);
    if (type)
      for (bpf_program* program : {skeleton->progs.empty_entry, skeleton->progs.empty_end})
        kernel::set_attach_type(program, *type);
    if (empty_probes_bpf__load(skeleton.get()) != 0) die("load empty programs");
    attach(skeleton->progs.empty_entry, code.file_offset);
    const auto ends = elf::EndingFunction::find(self.get(), std::vector{code}, elf::Work::nothing,
                                                elf::Places::any);
    if (!ends) die(ends.error().message());
    if (pair)
      for (const elf::FunctionEnd& end : (*ends)->ends())
        attach(skeleton->progs.empty_end, end.offset);
  }
  void attach(const bpf_program* program, std::uint64_t offset) {
    const kernel::UprobePlace place{"/proc/self/exe", offset, kernel::kAllProcesses};
    auto link = kernel::attach_uprobes(bpf_program__fd(program), kernel::uprobe_link_type(), place,
                                       {&place.offset, 1}, "driver_probed");
    if (!link) die(link.error().message());
    links.push_back(std::move(*link));
  }
  struct Deleter {
    void operator()(empty_probes_bpf* object) const { empty_probes_bpf__destroy(object); }
  };
  std::unique_ptr<empty_probes_bpf, Deleter> skeleton;
  std::vector<UniqueFd> links;
};

// Lives as long as the program that it runs.
struct Bpftrace {
  explicit Bpftrace(std::string program) {
    const std::string self = std::filesystem::read_symlink("/proc/self/exe");
    for (std::size_t at; (at = program.find("SELF")) != std::string::npos;)
      program.replace(at, 4, self);
    int ends[2];
    if (::pipe(ends) != 0) die("make a pipe");
    pid = ::fork();
    if (pid == 0) {
      ::dup2(ends[1], 1);
      ::close(2);
      ::execlp("bpftrace", "bpftrace", "-e", program.c_str(), nullptr);
      ::_exit(127);
    }
    ::close(ends[1]);
    char line[256];
    if (::read(ends[0], line, sizeof line) <= 0) die("bpftrace does not begin");
    out = ends[0];
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  ~Bpftrace() {
    ::kill(pid, SIGINT);
    char line[4096];
    while (::read(out, line, sizeof line) > 0) continue;
    ::close(out);
    ::waitpid(pid, nullptr, 0);
  }
  pid_t pid = 0;
  int out = -1;
};

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 5;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 1;
  FunctionsServer server;
  auto object = FunctionsObject::load(server, nullptr);
  if (!object) die(object.error().message());
  struct Way {
    std::string name;
    std::string floor;  // of its ratio
    std::function<double()> run;
    std::vector<double> results = {};
  };
  const auto described = [&](const std::string& more) {
    return [&object, more, seconds] {
      const Described on(*object, more);
      return measure(seconds);
    };
  };
  std::vector<Way> ways{
      {"nothing", "", [&] { return measure(seconds); }},
      {"empty entry", "",
       [&] {
         const Empty on(false);
         return measure(seconds);
       }},
      {"count", "empty entry", described("")},
      {"count by int", "empty entry", described(", labels: {reason: arg1 -> int}")},
      {"count by text", "empty entry", described(", labels: {port: 'arg0+8 -> string[32]'}")},
      {"empty pair", "",
       [&] {
         const Empty on(true);
         return measure(seconds);
       }},
      {"timed", "empty pair", described(", timed: true")},
      {"timed by text", "empty pair",
       described(", timed: true, labels: {port: 'arg0+8 -> string[32]'}")},
      {"result", "empty pair", described(", result: return -> int")},
  };
  if (std::system("command -v bpftrace > /dev/null") == 0) {
    ways.push_back(
        {"bpftrace count", "empty entry", [&] {
           const Bpftrace on(
               "BEGIN { printf(\"on\\n\"); } uprobe:SELF:driver_probed { @ = count(); }");
           return measure(seconds);
         }});
    ways.push_back({"bpftrace count by text", "empty entry", [&] {
                      const Bpftrace on(
                          "BEGIN { printf(\"on\\n\"); } uprobe:SELF:driver_probed { @[str(arg0+8)] "
                          "= count(); }");
                      return measure(seconds);
                    }});
    ways.push_back(
        {"bpftrace timed", "empty pair", [&] {
           const Bpftrace on(
               "BEGIN { printf(\"on\\n\"); } uprobe:SELF:driver_probed { @s[tid] = nsecs; } "
               "uretprobe:SELF:driver_probed /@s[tid]/ { @ = hist(nsecs - @s[tid]); }");
           return measure(seconds);
         }});
  }
  if (argc > 3)
    std::erase_if(ways, [&](const Way& way) {
      return std::none_of(argv + 3, argv + argc,
                          [&](const char* begin) { return way.name.starts_with(begin); });
    });
  for (int round = 0; round < rounds; ++round)
    for (Way& way : ways) way.results.push_back(way.run());
  std::map<std::string, double> median;
  std::printf("%-24s %8s %8s %8s\n", "way", "ns/call", "added", "x floor");
  for (Way& way : ways) {
    std::ranges::sort(way.results);
    const double ns = median[way.name] = way.results[way.results.size() / 2];
    const double added = ns - median["nothing"];
    std::printf("%-24s %8.0f %8.0f", way.name.c_str(), ns, added);
    if (!way.floor.empty()) std::printf(" %8.2f", ns / median[way.floor]);
    std::printf("\n");
  }
  return 0;
}
