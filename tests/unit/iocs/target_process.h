// A child process that runs target.c.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "iocs/find/finder.h"
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

// The name of an IOC of this test program, and the environment of a process that is called so.
std::string our_name(const std::string& name);
std::vector<std::string> named(const std::string& name);

// Finds these alone, whatever else runs here, but for "left-out".
FinderOptions only_ours(std::chrono::milliseconds maps_interval = {});

}  // namespace ioc_exporter::iocs
