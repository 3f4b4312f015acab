// DescriptorVfs: SQLite on files that are open already.
//
// The exporter may open no file for writing once it runs (docs/security.md), and SQLite opens its
// files itself. Here "opening" the database or its log gives it one of two descriptors, and to
// remove the log is to make it zeros. One connection has them, alone: no locks, no shared memory.
#pragma once

#include <memory>
#include <string>

#include "base/unique_fd.h"

struct sqlite3_vfs;

namespace ioc_exporter::delivery {

struct DatabaseFiles {
  UniqueFd database, log;  // to read and to write; SQLite's write-ahead log
};

class DescriptorVfs {
 public:
  explicit DescriptorVfs(DatabaseFiles files);
  ~DescriptorVfs();  // after the connection that uses it is closed
  DescriptorVfs(const DescriptorVfs&) = delete;
  DescriptorVfs& operator=(const DescriptorVfs&) = delete;

  // For sqlite3_open_v2().
  const char* name() const { return name_.c_str(); }

 private:
  DatabaseFiles files_;
  std::string name_;
  std::unique_ptr<sqlite3_vfs> vfs_;
};

}  // namespace ioc_exporter::delivery
