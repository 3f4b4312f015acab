// A /proc that a test makes.
#pragma once

#include <filesystem>
#include <sstream>
#include <string>

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
};

class ProcTree {
 public:
  ProcTree() {
    folder_.write("/proc/stat", "cpu 1\nbtime 1700000000\n");
    folder_.write("/proc/meminfo", "");
  }

  void put(const Fake& fake) {
    const std::string process = "/proc/" + std::to_string(fake.pid);
    const auto number = [](auto n) { return std::to_string(n) + " "; };
    folder_.write(process + "/stat", number(fake.pid) + "(x) S " + number(fake.parent) +
                                         "0 0 0 0 " + (fake.forked ? "4194368" : "4194304") +
                                         " 0 0 0 0 0 0 0 0 20 0 " + number(fake.threads) + "0 " +
                                         number(fake.start) + number(fake.vsize) + "0 0 94 95 " +
                                         number(fake.stack) + "0\n");
    put_maps(fake.pid, fake.executable);
    folder_.link(process + "/exe", fake.executable);
    folder_.link(process + "/root", "/");
    folder_.link(process + "/ns/net", "net:[4026531840]");
    folder_.write(process + "/environ", fake.environment);
    folder_.write(process + "/cmdline", "x");
    std::istringstream names(fake.thread_names);
    std::string name;
    for (int tid = fake.pid; names >> name; ++tid)
      folder_.write(process + "/task/" + std::to_string(tid) + "/comm", name + "\n");
  }
  void put_maps(int pid, const std::string& file) {
    const std::string process = "/proc/" + std::to_string(pid);
    folder_.write(process + "/maps", "400000-500000 r-xp 00001000 fe:00 5 " + file + "\n");
    folder_.link(process + "/map_files/400000-500000", file);
  }
  void remove(int pid) {
    std::filesystem::remove_all(folder_.path("/proc/" + std::to_string(pid)));
  }

 protected:
  TemporaryFolder folder_;
};

}  // namespace ioc_exporter::iocs
