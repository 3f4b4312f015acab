// Database: SQLite on two files that are open already, in WAL mode, with one connection that has
// them to itself. What is committed survives the exporter's end, not the host's.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "delivery/descriptor_vfs.h"

struct sqlite3;
struct sqlite3_stmt;

namespace ioc_exporter::delivery {

enum class DatabaseFile { database, log };

// Opens NAME, or NAME-wal, in the folder, and makes what is missing; mode 0640, the folder its
// owner's only to write to. One process has them at a time, SQLite's tools included:
// device_or_resource_busy.
Result<UniqueFd> open_database_file(const std::string& folder, const std::string& name,
                                    DatabaseFile file);

class Database {
 public:
  struct Tables {
    std::int64_t version;  // of them
    const char* sql;       // makes them, where there is nothing yet; as SQLite tells them then
  };

  // `path` is for errors, which all begin with what was to be done with it. Errors besides those of
  // SQLite: that a newer exporter has written it, or that it has other tables.
  static Result<std::unique_ptr<Database>> open(const std::string& path, DatabaseFiles files,
                                                const Tables& tables);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Statements without an answer, and one that answers one number, 0 where it has no row.
  Result<void> run(const char* sql);
  Result<std::int64_t> ask(const char* sql);
  // All that `write` does, or nothing of it.
  template <class Write>
  Result<void> transact(Write&& write) {
    if (auto begun = run("BEGIN IMMEDIATE"); !begun) return begun;
    Result<void> done = write();
    if (done) done = run("COMMIT");
    if (!done) take_back();
    return done;
  }

  // Of the last thing that failed.
  Error problem(const std::string& action) const;
  std::int64_t changes() const;       // rows of the last statement
  Result<std::int64_t> size();        // bytes, without pages that are free
  Result<void> give_back(int pages);  // to the disk; of those that are free, where they are many

  class Statement;

 private:
  Database(std::string path, DatabaseFiles files)
      : path_(std::move(path)), vfs_(std::move(files)) {}
  Result<void> begin(const Tables& tables);
  Result<void> check_tables(const Tables& tables);
  Result<void> use_log();
  void take_back();

  const std::string path_;
  DescriptorVfs vfs_;
  sqlite3* database_ = nullptr;
};

// A statement that is used once, or again after is_good().
class Database::Statement {
 public:
  Statement(Database& database, const char* sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  explicit operator bool() const { return statement_ != nullptr; }
  void bind(int at, std::int64_t number);
  // The text must stay until the statement is done.
  void bind(int at, std::string_view text);
  bool step_to_row();
  bool is_done();
  // That steps ended as they should.
  bool is_good();

  // Of the row that it stands at, from 0 on.
  std::int64_t number(int column) const;
  std::string bytes(int column) const;

 private:
  sqlite3_stmt* statement_ = nullptr;
};

}  // namespace ioc_exporter::delivery
