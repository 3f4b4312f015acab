// A /proc that a test makes.
#pragma once

#include <sstream>

#include "target_process.h"

namespace ioc_exporter::iocs {

struct Fake {
  int pid = 0;
  int parent = 1;
  int threads = 9;
  long vsize = 1000000;
  int start = 100;
  long stack = 140;
  std::string executable = TARGET_IOC;
  std::string environment = "";
  bool forked = false;
  std::string thread_names = "x";  // each thread's, by blanks
  int main_thread_ended = 0;       // the number of a thread that lives on
};

class ProcTree {
 public:
  ProcTree() {
    folder_.write("/proc/stat", "cpu 1\nbtime 1700000000\n");
    folder_.write("/proc/meminfo", "");
  }

  void put(const Fake& fake) {
    std::string process = "/proc/" + std::to_string(fake.pid);
    int shown_by = fake.pid;
    put_stat(process, fake);
    if (fake.main_thread_ended != 0) {
      for (const char* name : {"/maps", "/exe", "/root", "/ns", "/environ", "/cmdline"})
        std::filesystem::remove_all(folder_.path(process + name));
      shown_by = fake.main_thread_ended;
      folder_.write(process + "/maps", "");
      process += "/task/" + std::to_string(shown_by);
      Fake thread = fake;
      thread.main_thread_ended = 0;
      thread.pid = shown_by;
      thread.forked = true;
      put_stat(process, thread);
    }
    put_maps(process, shown_by, fake.executable);
    folder_.link(process + "/exe", fake.executable);
    folder_.link(process + "/root", "/");
    folder_.link(process + "/ns/net", "net:[4026531840]");
    folder_.write(process + "/environ", fake.environment);
    folder_.write(process + "/cmdline", "x");
    std::istringstream names(fake.thread_names);
    std::string name;
    for (int tid = fake.pid; names >> name; ++tid)
      folder_.write("/proc/" + std::to_string(fake.pid) + "/task/" + std::to_string(tid) + "/comm",
                    name + "\n");
  }
  void remove(int pid) {
    std::filesystem::remove_all(folder_.path("/proc/" + std::to_string(pid)));
  }

  void end_thread(int pid, int thread) {
    std::filesystem::remove_all(
        folder_.path("/proc/" + std::to_string(pid) + "/task/" + std::to_string(thread)));
  }

 private:
  void put_stat(const std::string& folder, const Fake& fake) {
    const bool ended = fake.main_thread_ended != 0;
    const auto number = [](auto n) { return std::to_string(n) + " "; };
    const auto of_memory = [&](auto n) { return number(ended ? 0 : n); };
    folder_.write(folder + "/stat",
                  number(fake.pid) + (ended ? "(x) Z " : "(x) S ") + number(fake.parent) +
                      "0 0 0 0 " + (fake.forked ? "4194368" : "4194304") +
                      " 0 0 0 0 0 0 0 0 20 0 " + number(fake.threads) + "0 " + number(fake.start) +
                      of_memory(fake.vsize) + "0 0 " + of_memory(94) + of_memory(95) +
                      of_memory(fake.stack) + "0\n");
  }
  void put_maps(const std::string& folder, int thread, const std::string& file) {
    folder_.write(folder + "/maps", "400000-500000 r-xp 00001000 fe:00 5 " + file + "\n");
    folder_.link("/proc/" + std::to_string(thread) + "/map_files/400000-500000", file);
  }

 protected:
  TemporaryFolder folder_;
};

}  // namespace ioc_exporter::iocs
