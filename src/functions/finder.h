// FunctionFinder: which files with described functions an IOC maps, and where these are. Each file
// is searched once, whatever number of processes map it. In one thread, which may wait for a file.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "functions/description.h"
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
  std::vector<std::string> problems = {};  // with pointers
};

class FunctionFinder {
 public:
  FunctionFinder(std::shared_ptr<iocs::ProcessReader> reader,
                 std::shared_ptr<const Descriptions> descriptions)
      : reader_(std::move(reader)), descriptions_(std::move(descriptions)) {}

  Result<LookedAt> look(const iocs::IocId& id, const std::vector<PointerSeen>& pointers);

 private:
  using FilePtr = std::shared_ptr<const DescribedFile>;
  // A file, and the offset of a function that a pointer led to; none: of those with symbols.
  using FileKey = std::pair<iocs::FileId, std::pair<std::uint32_t, std::uint64_t>>;

  Result<FilePtr> file_of(pid_t pid, const iocs::Mapping& mapping,
                          const std::vector<iocs::FunctionWish>& wishes,
                          const std::vector<std::uint32_t>& described,
                          std::pair<std::uint32_t, std::uint64_t> pointer);
  Result<FilePtr> read(pid_t pid, const iocs::Mapping& mapping, UniqueFd fd,
                       const std::vector<iocs::FunctionWish>& wishes,
                       const std::vector<std::uint32_t>& described) const;
  FilePtr same_file(const DescribedFile& file) const;

  std::shared_ptr<iocs::ProcessReader> reader_;
  std::shared_ptr<const Descriptions> descriptions_;
  std::map<FileKey, FilePtr> files_;
};

}  // namespace ioc_exporter::functions
