// A folder of a test's own.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace ioc_exporter {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "ioc_exporter.XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
    folder_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  // `name` begins with '/'.
  std::string path(const std::string& name = "") const { return folder_ + name; }
  void write(const std::string& name, const std::string& content) const {
    make_parent(name);
    std::ofstream(path(name), std::ios::binary) << content;
  }
  void link(const std::string& name, const std::string& target) const {
    make_parent(name);
    std::filesystem::remove(path(name));
    std::filesystem::create_symlink(target, path(name));
  }

 private:
  void make_parent(const std::string& name) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
  }

  std::string folder_;
};

}  // namespace ioc_exporter
