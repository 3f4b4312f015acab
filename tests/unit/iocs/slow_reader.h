// A reader that is at some files until the test lets it answer.
#pragma once

#include <cerrno>
#include <functional>
#include <string>
#include <vector>

#include "iocs/memory/process_reader.h"

namespace ioc_exporter::iocs {

class SlowReader : public ProcessReader {
 public:
  using ProcessReader::ProcessReader;

  std::function<bool(const std::string& path)> is_slow;
  int opened = 0;
  std::vector<pid_t> forgotten;

  void forget(pid_t pid) override { forgotten.push_back(pid); }
  Result<UniqueFd> open(pid_t pid, const std::string& path) override {
    ++opened;
    return ProcessReader::open(pid, path);
  }
  Result<ElfSymbols> symbols(pid_t pid, int fd, const std::string& path) override {
    if (is_slow && is_slow(path)) return error_from_errno(EINPROGRESS, "read " + path);
    return ProcessReader::symbols(pid, fd, path);
  }
  Result<std::string> base_version(pid_t pid, int fd,
                                   std::span<const LoadSegment> segments) override {
    if (is_slow && is_slow("")) return error_from_errno(EINPROGRESS, "search it");
    return ProcessReader::base_version(pid, fd, segments);
  }
};

}  // namespace ioc_exporter::iocs
