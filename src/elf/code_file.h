// CodeFile: a library or an executable whose functions are to be probed. It is opened once, and its
// symbols are read through the same descriptor that probes are later attached through: a path may
// lead to another file by then.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

struct stat;

namespace ioc_exporter::elf {

// Identity of a file by stat(2): two paths with the same FileId are one file with one content.
struct FileId {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;

  auto operator<=>(const FileId&) const = default;
};
FileId file_id(const struct stat& status);

// Bytes of a function in its file.
struct CodeRange {
  std::uint64_t file_offset = 0;  // of the first instruction
  std::uint64_t size = 0;         // as the symbol table says

  bool operator==(const CodeRange&) const = default;
};

// Where a function is probed at its entry (function_entry.h).
struct FunctionEntry {
  std::uint64_t offset = 0;  // in the file
  // The kernel does not emulate the instruction there: it executes it by itself, in a second trap.
  bool stepped = false;
  bool long_nop = false;  // some kernels emulate that: CodeFile::entry() knows of this one

  bool operator==(const FunctionEntry&) const = default;
};

class CodeFile {
 public:
  // `fd`: a regular file. `functions`: those that may be probed, as its symbol table names them.
  // `path` is for messages.
  static Result<std::shared_ptr<const CodeFile>> open(UniqueFd fd, const std::string& path,
                                                      const std::vector<CodeRange>& functions);

  const FileId& id() const { return id_; }
  std::int64_t ctime_ns() const { return ctime_ns_; }
  int fd() const { return fd_.get(); }
  // For perf_event_open(2) and bpf(2): leads to this file as long as the CodeFile lives.
  std::string attach_path() const { return "/proc/self/fd/" + std::to_string(fd_.get()); }

  // To be asked right before each attachment. The answer is an error when no function begins at
  // `offset`, or when the file does not hold what it held when it was opened: rewritten in place,
  // or copied by an overlay file system, whose copy nobody maps who runs the original.
  Result<void> may_probe(std::uint64_t offset) const;
  // Of the function that begins at `offset`, as its code was when the file was opened.
  FunctionEntry entry(std::uint64_t offset) const;

  // Their content may be the same. Cheap; find_same_inode() is certain.
  bool resembles(const CodeFile& other) const;

 private:
  CodeFile() = default;

  UniqueFd fd_;
  FileId id_;
  std::int64_t ctime_ns_ = 0;
  std::string head_;  // ELF header, program headers, build id
  struct Function {
    std::string begin;  // its first bytes
    FunctionEntry entry;

    bool operator==(const Function&) const = default;
  };
  std::map<std::uint64_t, Function> functions_;  // by offset
};

}  // namespace ioc_exporter::elf
