// Database: SQLite in WAL mode, with one connection that has the file to itself: to others,
// SQLite's tools among them, it is locked. What is committed survives the exporter's end, not the
// host's.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace ioc_exporter::delivery {

class Database {
 public:
  struct Tables {
    std::int64_t version;  // of them
    const char* sql;       // makes them, where there is nothing yet; as SQLite tells them then
  };

  // NAME in the folder, made where it is missing; mode 0640, the folder its owner's only to write
  // to. Errors, which all begin with what was to be done with it, besides those of SQLite: that a
  // newer exporter has written it, or that it has other tables.
  static Result<std::unique_ptr<Database>> open(const std::string& folder, const std::string& name,
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
  explicit Database(std::string path) : path_(std::move(path)) {}
  Result<void> begin(const Tables& tables);
  Result<void> check_tables(const Tables& tables);
  void take_back();

  const std::string path_;
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
