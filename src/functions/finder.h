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
#include "functions/description.h"
#include "functions/walk_watch.h"
#include "iocs/elf/code_file.h"
#include "iocs/elf/function_ends.h"
#include "iocs/elf/maps.h"
#include "iocs/ioc_id.h"
#include "iocs/memory/process_reader.h"

namespace ioc_exporter::functions {

struct DescribedFunction {
  std::uint32_t description = 0;  // index
  std::string symbol;             // "" = it has none
  iocs::CodeRange code;
  std::shared_ptr<const iocs::EndingFunction> ending;  // null: it has no use for it, or none
};

struct DescribedFile {
  std::shared_ptr<const iocs::CodeFile> code;
  std::string path;  // as the IOC that was looked at first sees it
  std::vector<DescribedFunction> functions;
  std::vector<std::pair<std::uint32_t, std::string>> problems;  // by description
  // Variables of walks: where they would be in the file (FunctionWish::Kind::variable), or why not.
  std::map<std::string, Result<std::uint64_t>> variables = {};
};

// An executable mapping of a file.
struct MappedCode {
  std::uint64_t start = 0, end = 0, offset = 0;
};

struct FileInIoc {
  std::shared_ptr<const DescribedFile> file;
  std::vector<MappedCode> code;
};

// An address that a call of another described function had, for the description that asks for it.
struct PointerSeen {
  std::uint64_t address = 0;
  std::uint32_t description = 0;
  auto operator<=>(const PointerSeen&) const = default;
};

struct LookedAt {
  std::vector<FileInIoc> files;
  std::vector<std::string> problems = {};          // with pointers
  std::map<std::uint32_t, WalkPlaces> walks = {};  // by index
};

class FunctionFinder {
 public:
  FunctionFinder(std::shared_ptr<iocs::ProcessReader> reader,
                 std::shared_ptr<const Descriptions> descriptions,
                 std::shared_ptr<const std::vector<Walk>> walks = nullptr)
      : reader_(std::move(reader)),
        descriptions_(std::move(descriptions)),
        walks_(walks ? std::move(walks) : std::make_shared<const std::vector<Walk>>()) {}

  Result<LookedAt> look(const iocs::IocId& id, const std::vector<PointerSeen>& pointers);

 private:
  using FilePtr = std::shared_ptr<const DescribedFile>;
  // A file, and the offset of a function that a pointer led to; none: of those with symbols, which
  // these descriptions asked for.
  using FileKey =
      std::tuple<iocs::FileId, std::pair<std::uint32_t, std::uint64_t>, std::vector<std::uint32_t>>;

  Result<FilePtr> file_of(pid_t pid, const iocs::Mapping& mapping,
                          const std::vector<iocs::FunctionWish>& wishes,
                          const std::vector<std::uint32_t>& described,
                          std::pair<std::uint32_t, std::uint64_t> pointer);
  Result<FilePtr> read(pid_t pid, const iocs::Mapping& mapping, UniqueFd fd,
                       const std::vector<iocs::FunctionWish>& wishes,
                       const std::vector<std::uint32_t>& described) const;
  FilePtr same_file(const DescribedFile& file, const std::vector<std::uint32_t>& described) const;
  void add_walks(const FileInIoc& file, std::map<std::uint32_t, WalkPlaces>& walks) const;

  std::shared_ptr<iocs::ProcessReader> reader_;
  std::shared_ptr<const Descriptions> descriptions_;
  std::shared_ptr<const std::vector<Walk>> walks_;
  std::map<FileKey, FilePtr> files_;
};

}  // namespace ioc_exporter::functions
