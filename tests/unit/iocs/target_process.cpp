#include "target_process.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
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
  if (std::fgets(line, sizeof line, from_) == nullptr || std::strncmp(line, "ok", 2) != 0)
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

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "discovery-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
  folder_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string TemporaryFolder::path(const std::string& name) const {
  return folder_.string() + name;
}

void TemporaryFolder::write(const std::string& name, const std::string& content) const {
  std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
  std::ofstream(path(name), std::ios::binary) << content;
}

void TemporaryFolder::link(const std::string& name, const std::string& target) const {
  std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
  std::filesystem::remove(path(name));
  std::filesystem::create_symlink(target, path(name));
}

}  // namespace ioc_exporter::iocs
