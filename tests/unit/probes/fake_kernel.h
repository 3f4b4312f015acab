// A kernel that notes attachments: each is a pipe, whose other end tells when it was taken off.
#pragma once

#include <poll.h>
#include <unistd.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "probes/engine.h"
#include "support/temporary_folder.h"
#include "support/value_of.h"

namespace ioc_exporter::probes {

class FakeKernel {
 public:
  Attaching attaching() {
    return {[this](std::uint32_t program, const elf::ProbePlace& place) {
              return attach(program, place);
            },
            [this](elf::FunctionProbe& to, std::uint32_t program, const elf::ProbePlace& place) {
              if (const Error* const error = refusal(place)) return Result<void>(*error);
              to.at_ends.push_back(add(program, place, true));
              return Result<void>();
            },
            [this] { under_way_ = false; }};
  }
  Hooks hooks() {
    return {[this](const Member& member, unsigned attach) { return count_by(member, attach); },
            [this](const Member&, const Error& error) { told.push_back(error.message()); }};
  }

  struct Attachment {
    std::uint32_t program = 0;
    std::uint64_t inode = 0, offset = 0;
    std::int32_t pid = 0;
    bool at_ends = false;
    auto operator<=>(const Attachment&) const = default;
  };
  std::vector<Attachment> attachments() const {
    std::vector<Attachment> all;
    for (const auto& [one, end] : made_)
      if (is_there(end)) all.push_back(one);
    std::ranges::sort(all);
    return all;
  }
  std::size_t count(std::int32_t pid, bool at_ends = false) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        attachments(), [&](const auto& one) { return one.pid == pid && one.at_ends == at_ends; }));
  }
  // How often a hit of the function in that process counts.
  int counted(std::int32_t pid, std::uint32_t program) const {
    const auto by = counted_by.find({pid, 1});
    int times = 0;
    for (const Attachment& one : attachments())
      if (by != counted_by.end() && one.program == program && !one.at_ends)
        times += (one.pid == pid && by->second == IOCX_ATTACH_PROCESS) ||
                 (one.pid == kernel::kAllProcesses && by->second == IOCX_ATTACH_ALL);
    return times;
  }

  std::map<iocs::IocId, unsigned> counted_by;
  std::map<std::int32_t, Error> refused;       // by process
  std::function<void()> at_each_step = [] {};  // before and after something changes
  std::function<Result<Switched>(unsigned)> may_count = [](unsigned) { return Switched::now; };
  std::vector<std::string> told;
  int tries = 0;
  // Those during which a hit would not count once.
  int wrong_switches = 0;

 private:
  // The same of a hit whose first program runs before what counts is switched, and the others
  // after it: is_counted_by() in bpf/records/threads.bpf.h. The newest one's is the first.
  int counted_during(std::int32_t pid, std::uint32_t program, unsigned from, unsigned to) const {
    int times = 0;
    unsigned by = from, left_by = 0;
    for (auto made = made_.rbegin(); made != made_.rend(); ++made) {
      const auto& [one, end] = *made;
      const bool for_all = one.pid == kernel::kAllProcesses;
      if (one.program != program || one.at_ends || !is_there(end) || !(for_all || one.pid == pid))
        continue;
      const unsigned kind = for_all ? IOCX_ATTACH_ALL : IOCX_ATTACH_PROCESS;
      const bool counts = by == kind || (left_by != 0 && left_by != kind);
      left_by = counts ? 0 : kind;
      times += counts;
      by = to;
    }
    return times;
  }
  static bool is_there(const UniqueFd& end) {
    pollfd poll{end.get(), POLLIN, 0};
    return ::poll(&poll, 1, 0) == 0;
  }
  const Error* refusal(const elf::ProbePlace& place) {
    ++tries;
    const auto found = refused.find(place.pid);
    return found == refused.end() ? nullptr : &found->second;
  }
  UniqueFd add(std::uint32_t program, const elf::ProbePlace& place, bool at_ends) {
    at_each_step();
    int ends[2];
    if (::pipe(ends) != 0) throw std::runtime_error("pipe");
    under_way_ = true;
    made_.emplace_back(
        Attachment{program, place.file->id().inode, place.offset, place.pid, at_ends},
        UniqueFd(ends[0]));
    at_each_step();
    return UniqueFd(ends[1]);
  }
  Result<elf::FunctionProbe> attach(std::uint32_t program, const elf::ProbePlace& place) {
    if (const Error* const error = refusal(place)) return *error;
    elf::FunctionProbe probe;
    if (place.ending) probe.at_ends.push_back(add(program, place, true));
    probe.at_entry = add(program, place, false);
    return probe;
  }
  Result<Switched> count_by(const Member& member, unsigned attach) {
    auto may = may_count(attach);
    if (!may || *may == Switched::later) return may;
    at_each_step();
    if (const unsigned by = std::exchange(counted_by[member.ioc], attach);
        by != 0 && attach != 0 && !member.place) {
      wrong_switches += under_way_;
      for (const std::uint32_t program : {0u, 1u})
        wrong_switches += counted_during(member.ioc.pid, program, by, attach) != 1;
    }
    at_each_step();
    return Switched::now;
  }

  std::vector<std::pair<Attachment, UniqueFd>> made_;
  bool under_way_ = false;  // hits that do not see the latest attachment
};

// A library with functions of some bytes, each of which ends.
class FakeLibrary {
 public:
  static constexpr std::uint64_t kFunctions[] = {0, 64, 128};

  explicit FakeLibrary(const TemporaryFolder& folder, const std::string& name = "/library.so") {
#if defined(__aarch64__)
    const std::string code = {'\xc0', '\x03', '\x5f', '\xd6'};
#else
    const std::string code = {'\x55', '\x5d', '\xc3', '\x90'};
#endif
    std::string content;
    std::vector<elf::CodeRange> functions;
    for (const std::uint64_t offset : kFunctions) {
      functions.push_back({offset, code.size()});
      content += code + std::string(64 - code.size(), '\0');
    }
    folder.write(name, content);
    const auto open = [&] {
      return UniqueFd(::open(folder.path(name).c_str(), O_RDONLY | O_CLOEXEC));
    };
    file = value_of(elf::CodeFile::open(open(), name, functions));
    ending = value_of(elf::EndingFunction::find(file->fd(), {{functions[0]}}));
  }
  ProbeRow row(std::int32_t pid, std::uint32_t program = 0) const {
    return {.ioc = {pid, 1},
            .program = program,
            .file = file,
            .path = "/library.so",
            .name = "dbProcess",
            .offset = kFunctions[program]};
  }

  CodeFilePtr file;
  EndingPtr ending;
};

}  // namespace ioc_exporter::probes
