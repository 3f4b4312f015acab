// FunctionFinder: which files with described functions an IOC maps, and where these are. Each file
// is searched once, whatever number of processes map it. In one thread, which may wait for a file.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/result.h"
#include "elf/code_file.h"
#include "elf/function_ends.h"
#include "elf/maps.h"
#include "functions/description.h"
#include "functions/walk_watch.h"
#include "iocs/find/file_cache.h"
#include "iocs/ioc_id.h"
#include "iocs/memory/process_reader.h"

namespace ioc_exporter::functions {

struct DescribedFunction {
  std::uint32_t description = 0;  // index
  std::string symbol;             // "" = it has none
  elf::CodeRange code;
  std::shared_ptr<const elf::EndingFunction> ending;  // null: it has no use for it, or none
};

struct DescribedFile {
  std::shared_ptr<const elf::CodeFile> code;
  std::string path;  // as the IOC that was searched first sees it
  std::vector<DescribedFunction> functions;
  std::vector<std::pair<std::uint32_t, std::string>> problems;  // by description
  // Variables of walks: where they would be in the file (FunctionWish::Kind::variable), or why not.
  std::map<std::string, Result<std::uint64_t>> variables = {};
};

// An executable mapping of a file.
struct MappedCode {
  std::uint64_t start = 0, end = 0, offset = 0;
};

// Which file is mapped there: after dlclose() and dlopen() it may be another one.
struct MappedFile {
  std::string path, device;
  std::uint64_t inode = 0;
  std::uint64_t start = 0;  // of a mapping
  bool operator==(const MappedFile&) const = default;
};

struct FileInIoc {
  std::shared_ptr<const DescribedFile> file;
  MappedFile mapped;
  std::vector<MappedCode> code;
};

// An address that a call of another described function had, for the description that asks for it.
struct PointerSeen {
  std::uint64_t address = 0;
  std::uint32_t description = 0;
  auto operator<=>(const PointerSeen&) const = default;
};

// A file that could not be read, and the descriptions that are of it.
struct FileProblem {
  MappedFile mapped;
  std::string problem, names;
};

struct FunctionsFound {
  std::vector<FileInIoc> files;
  std::vector<FileProblem> unread = {};
  bool again = false;                              // a file was not read for now
  std::size_t files_over = 0;                      // above the bounds of FunctionFinder
  std::vector<std::string> problems = {};          // with pointers
  std::map<std::uint32_t, WalkPlaces> walks = {};  // by index
};

// Text of the maps of a process, and a thread that has them: its main thread may have ended.
struct ReadMaps {
  pid_t thread = 0;
  std::string text;
};
Result<ReadMaps> read_maps(iocs::ProcessReader& reader, pid_t pid);
// Where the file of a mapping is opened; not below /proc/PID/task/TID.
std::string map_files_path(pid_t thread, const elf::Mapping& mapping);

// Libraries that programs share, or that the exporter probes itself: an address in an IOC's memory
// does not choose that functions of these are probed.
bool is_common_library(const std::string& path);

class FunctionFinder {
 public:
  // Of one IOC: files with described functions, and files that are searched for some.
  static constexpr std::size_t kMostFilesOfIoc = 128, kMostSearched = 256;
  // Files that are remembered, whatever is in them.
  static constexpr std::size_t kMostFiles = 4096;

  // `most_open`: files with described functions, which stay open.
  FunctionFinder(std::shared_ptr<iocs::ProcessReader> reader,
                 std::shared_ptr<const Descriptions> descriptions,
                 std::shared_ptr<const std::vector<Walk>> walks = nullptr,
                 std::size_t most_open = iocs::FileCache::most_open_files())
      : reader_(std::move(reader)),
        descriptions_(std::move(descriptions)),
        walks_(walks ? std::move(walks) : std::make_shared<const std::vector<Walk>>()),
        most_open_(most_open) {}

  Result<FunctionsFound> find(const iocs::IocId& id, const std::vector<PointerSeen>& pointers);

 private:
  using FilePtr = std::shared_ptr<const DescribedFile>;
  // A file, and the offset of a function that a pointer led to; none: of those with symbols, which
  // these descriptions asked for.
  // The last: variables that walks asked for.
  using FileKey = std::tuple<elf::FileId, std::pair<std::uint32_t, std::uint64_t>,
                             std::vector<std::uint32_t>, std::vector<std::string>>;

  struct Known {
    FilePtr file;
    bool is_open = false;  // by its own descriptor
  };
  // A process that is searched.
  struct Process {
    pid_t pid, thread;
    const std::vector<elf::Mapping>& mappings;
  };

  // An error with EMFILE: there are too many.
  Result<FilePtr> file_of(const Process& process, const elf::Mapping& mapping,
                          const std::vector<elf::FunctionWish>& wishes,
                          const std::vector<std::uint32_t>& described,
                          std::pair<std::uint32_t, std::uint64_t> pointer);
  Result<FilePtr> read(pid_t pid, const elf::Mapping& mapping, UniqueFd fd,
                       const std::vector<elf::FunctionWish>& wishes,
                       const std::vector<std::uint32_t>& described) const;
  FilePtr same_file(const DescribedFile& file, const FileKey& key) const;
  void forget_unused();
  void add_pointer(const Process& process, const PointerSeen& pointer, FunctionsFound& found);
  void add_walks(const FileInIoc& file, std::map<std::uint32_t, WalkPlaces>& walks) const;

  std::shared_ptr<iocs::ProcessReader> reader_;
  std::shared_ptr<const Descriptions> descriptions_;
  std::shared_ptr<const std::vector<Walk>> walks_;
  std::map<FileKey, Known> files_;
  std::size_t most_open_, open_ = 0;
};

}  // namespace ioc_exporter::functions
