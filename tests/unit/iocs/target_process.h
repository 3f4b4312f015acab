// A child process that runs tests/unit/discovery/target.c, and a throw-away folder.
#pragma once

#include <sys/types.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

namespace ioc_exporter::iocs {

class TargetProcess {
 public:
  // Ready when this returns. `environment`: the whole of it.
  explicit TargetProcess(const std::string& program, std::vector<std::string> environment = {});
  TargetProcess(const TargetProcess&) = delete;
  TargetProcess& operator=(const TargetProcess&) = delete;
  ~TargetProcess() { stop(); }

  // The number that the process answers.
  int command(const std::string& line);
  void stop();  // SIGKILL, and waits
  pid_t pid() const { return pid_; }

 private:
  int answer();

  pid_t pid_ = -1;
  FILE* to_ = nullptr;
  FILE* from_ = nullptr;
};

class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string path(const std::string& name = "") const;  // name begins with '/'
  void write(const std::string& name, const std::string& content) const;
  void link(const std::string& name, const std::string& target) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace ioc_exporter::iocs
