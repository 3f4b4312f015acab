// FileCache: what the finder knows about files that processes map. Each file is read once, not once
// a process and not again at the next scan.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "elf/elf_symbols.h"
#include "iocs/ioc.h"
#include "iocs/memory/process_reader.h"

namespace ioc_exporter::iocs {

// One file's verdict. `elf` is missing when the file is no ELF file that we can read: see
// `problem`.
struct FileFacts {
  elf::FileId id;
  std::optional<elf::ElfSymbols> elf;
  std::string problem;
  bool retry = false;  // it claims to be ELF: worth another try, a minute later
  // Of a file to be probed: missing when it could not be kept open (see `problem`).
  std::shared_ptr<const elf::CodeFile> code;
};

class FileCache {
 public:
  struct Options {
    std::size_t capacity = 8192;  // files kept; the ones not asked for longest go first
    std::size_t most_open = most_open_files();
  };
  // Descriptors that library files may have: the others are for probes and scrapers.
  static std::size_t most_open_files();

  explicit FileCache(ProcessReader& reader) : FileCache(reader, Options{}) {}
  // Files with the first of wanted_symbols(), or with the server of CA or PVA, stay open.
  FileCache(ProcessReader& reader, Options options);

  // `path` in the root, which has this status; it is one that process `pid` chose. Only regular
  // files are opened: a device that is mapped is never touched. A file that cannot be reached, or
  // not now, is an error and is not remembered; one that could not be read although it claims to be
  // ELF is tried again after a minute.
  Result<std::shared_ptr<const FileFacts>> facts_of(pid_t pid, const std::string& path,
                                                    const struct stat& status);
  Result<std::shared_ptr<const FileFacts>> facts_of(pid_t pid, const std::string& path);

  // Version of EPICS Base in a file of facts_of(), searched once; "" when there is none.
  std::string base_version(pid_t pid, const std::string& path, const FileFacts& facts);

  // Closes the files that only this cache still knows; they are read again when they come back.
  void close_unused();

  std::uint64_t files_read() const { return files_read_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Entry {
    std::shared_ptr<const FileFacts> facts;
    std::optional<std::string> base_version;
    Clock::time_point expires = Clock::time_point::max();
    std::uint64_t used = 0;
  };

  Result<UniqueFd> open_same(pid_t pid, const std::string& path, const elf::FileId& id);
  Result<void> read(pid_t pid, const std::string& path, UniqueFd& fd, FileFacts& facts);
  void make_room();

  ProcessReader& reader_;
  Options options_;
  std::map<elf::FileId, Entry> entries_;
  std::set<elf::FileId> open_;  // entries whose file is kept open
  std::uint64_t uses_ = 0;
  std::uint64_t files_read_ = 0;
};

}  // namespace ioc_exporter::iocs
