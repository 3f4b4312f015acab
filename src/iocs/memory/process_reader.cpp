#include "iocs/memory/process_reader.h"

#include "iocs/find/base_version.h"
#include "iocs/find/inspector.h"

namespace ioc_exporter::iocs {

std::span<const std::string> wanted_symbols() {
  static const std::vector<std::string> all = Inspector::wanted_symbols();
  return all;
}

Result<std::unique_ptr<Memory>> ProcessReader::memory(const IocId& id) {
  auto memory = ProcMemory::open(fs_, id);
  if (!memory) return std::move(memory).error();
  return std::unique_ptr<Memory>(std::move(*memory));
}

Result<std::string> ProcessReader::text(pid_t, const std::string& path, std::size_t limit) {
  return fs_.read(path, limit);
}

Result<std::vector<FileStatus>> ProcessReader::statuses(pid_t, std::span<const std::string> paths) {
  std::vector<FileStatus> all;
  for (const std::string& path : paths) {
    struct stat status {};
    const bool there = ::stat(fs_.path(path).c_str(), &status) == 0;
    all.push_back(there ? FileStatus(status) : std::nullopt);
  }
  return all;
}

Result<struct stat> ProcessReader::status(pid_t pid, const std::string& path) {
  auto found = statuses(pid, std::span(&path, 1));
  if (!found) return std::move(found).error();
  if (found->empty() || !found->front()) return error_from_errno(ENOENT, "stat " + fs_.path(path));
  return *found->front();
}

Result<UniqueFd> ProcessReader::open(pid_t, const std::string& path) {
  return fs_.open_regular(path);
}

Result<elf::ElfSymbols> ProcessReader::symbols(pid_t, int fd, const std::string& path) {
  return elf::ElfSymbols::read(fd, path, wanted_symbols());
}

Result<std::string> ProcessReader::base_version(pid_t, int fd,
                                                std::span<const elf::LoadSegment> segments) {
  return base_version_of_file(fd, segments);
}

Result<elf::FoundFunctions> ProcessReader::functions(pid_t, int fd, const std::string& path,
                                                     std::span<const elf::FunctionWish> wishes) {
  return elf::find_functions(fd, path, wishes);
}

}  // namespace ioc_exporter::iocs
