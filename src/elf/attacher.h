// Attacher: puts programs of a BPF object on functions of IOCs, at their entries and, where there
// is a program for it, at their ends (elf/function_ends.h).
//
// It attaches itself, or asks the helper process, which keeps the right to. The helper has an
// Attacher of the same programs and trusts no number that it is sent: it attaches only where the
// file's symbols and code say that one of the functions begins or ends, which is at its first byte
// or at its entry (function_entry.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/helper.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "elf/code_file.h"
#include "elf/function_ends.h"
#include "kernel/uprobe.h"

struct bpf_object;

namespace ioc_exporter::elf {

// Programs for one function, by their names in the BPF object.
struct FunctionPrograms {
  // Its names in symbol tables; the first is for messages. Empty: any function of a file.
  std::vector<const char*> functions = {};
  const char* entry = nullptr;
  // For attachments to all processes, where a cookie does not tell them; null: `entry`.
  const char* entry_all = nullptr;
  const char* at_end = nullptr;  // null: there is none
  // bpf_get_attach_cookie() of attachments to one process and to all, where they are links.
  std::uint64_t cookie = 0, cookie_all = 0;
  // Null, or whether the function begins there where no symbol names it.
  bool (*is_unnamed)(int fd, std::uint64_t offset) = nullptr;
  Places ends = Places::cheap;
};

// A function in a file, in one process or in all.
struct ProbePlace {
  std::shared_ptr<const CodeFile> file;
  std::string display_path;  // as an IOC sees it, for messages
  std::uint64_t offset = 0;  // of its first byte, in the file; the file knows its entry
  std::int32_t pid = 0;      // or kernel::kAllProcesses
  // Its ends, when they are to be seen; null: only its entry is.
  std::shared_ptr<const EndingFunction> ending = {};
  std::string function = {};  // its name, where programs are for any
  // The programs of its ends, by number; nothing: those of its entry.
  std::optional<std::uint32_t> ends_number = {};
};

// The probes of one function, detached when it is destroyed: the entry first, so that an entry
// never lacks its end.
struct FunctionProbe {
  FunctionProbe() = default;
  FunctionProbe(FunctionProbe&&) = default;
  FunctionProbe& operator=(FunctionProbe&&) = delete;  // would detach the ends first

  std::vector<UniqueFd> at_ends;
  UniqueFd at_entry;
};

// Must not outlive the BPF object.
class Attacher {
 public:
  // `what`: HelperRequest::what of its requests at entries; at ends it is one more. `links`: the
  // programs were loaded to be attached by links (kernel::set_attach_type()).
  Attacher(std::uint32_t what, std::vector<FunctionPrograms> programs, const bpf_object* object,
           kernel::UprobeLinkType links)
      : what_(what), programs_(std::move(programs)), object_(object), links_(links) {}

  // `number`: index of the function's programs. The file must hold the code that it held when it
  // was opened.
  Result<FunctionProbe> attach(std::uint32_t number, const ProbePlace& place) const;
  // At its ends only, where `to` has none.
  Result<void> attach_ends(FunctionProbe& to, std::uint32_t number, const ProbePlace& place) const;

  // From now on `helper` attaches, whose process calls serve().
  void use_helper(std::shared_ptr<Helper> helper) { helper_ = std::move(helper); }
  bool serves(const HelperRequest& request) const { return request.what - what_ <= 1; }
  Result<UniqueFd> serve(const HelperRequest& request, const UniqueFd& file) const;

  // Attachments are links: they are detached together (kernel/uprobe.h).
  bool has_links() const { return links_.has_value(); }

 private:
  Error error_at(std::uint32_t number, const ProbePlace& place, const Error& error) const;
  Result<std::vector<UniqueFd>> make_ends(std::uint32_t number, const ProbePlace& place) const;
  Result<UniqueFd> ask(std::uint32_t number, const ProbePlace& place, const FunctionEnd* end) const;
  Result<UniqueFd> attach_here(std::uint32_t number, int file, std::int32_t pid, bool at_end,
                               std::vector<std::uint64_t> offsets) const;

  std::uint32_t what_;
  std::vector<FunctionPrograms> programs_;
  const bpf_object* object_;
  kernel::UprobeLinkType links_;
  std::shared_ptr<Helper> helper_;  // null: this process attaches
};

}  // namespace ioc_exporter::elf
