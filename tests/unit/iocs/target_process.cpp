#include "target_process.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>

namespace ioc_exporter::iocs {

TargetProcess::TargetProcess(const std::string& program, std::vector<std::string> environment) {
  int in[2];
  int out[2];
  if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
  std::vector<char*> variables;
  for (std::string& entry : environment) variables.push_back(entry.data());
  variables.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ == 0) {
    ::dup2(in[0], 0);
    ::dup2(out[1], 1);
    ::execle(program.c_str(), program.c_str(), static_cast<char*>(nullptr), variables.data());
    ::_exit(127);
  }
  ::close(in[0]);
  ::close(out[1]);
  to_ = ::fdopen(in[1], "w");
  from_ = ::fdopen(out[0], "r");
  answer();
}

int TargetProcess::command(const std::string& line) {
  std::fprintf(to_, "%s\n", line.c_str());
  std::fflush(to_);
  return answer();
}

int TargetProcess::answer() {
  char line[64] = "";
  if (std::fgets(line, sizeof line, from_) == nullptr || ::strncmp(line, "ok", 2) != 0)
    throw std::runtime_error("the target process gave no answer");
  return std::atoi(line + 2);
}

void TargetProcess::stop() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  std::fclose(to_);
  std::fclose(from_);
  pid_ = -1;
}

std::string our_name(const std::string& name) {
  return "unit-" + std::to_string(::getpid()) + "-" + name;
}

std::vector<std::string> named(const std::string& name) {
  return {"IOC=" + our_name(name)};
}

FinderOptions only_ours(std::chrono::milliseconds maps_interval) {
  FinderOptions options;
  options.filter = {*Pattern::compile(our_name(".*")), *Pattern::compile(our_name("left-out"))};
  options.maps_interval = maps_interval;
  return options;
}

}  // namespace ioc_exporter::iocs
