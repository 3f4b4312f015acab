// A child process that runs target.c.
#pragma once

#include <sys/types.h>

#include <cstdio>
#include <string>
#include <vector>

#include "support/temporary_folder.h"

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

}  // namespace ioc_exporter::iocs
