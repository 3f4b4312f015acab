#include "delivery/database.h"

#include <sqlite3.h>

#include <utility>

#include "base/owned_file.h"

namespace ioc_exporter::delivery {
namespace {

// In which one that was killed may end.
constexpr int kPatience = 3000;  // ms

}  // namespace

Database::Statement::Statement(Database& database, const char* sql) {
  sqlite3_prepare_v2(database.database_, sql, -1, &statement_, nullptr);
}

Database::Statement::~Statement() {
  sqlite3_finalize(statement_);
}

void Database::Statement::bind(int at, std::int64_t number) {
  sqlite3_bind_int64(statement_, at, number);
}

void Database::Statement::bind(int at, std::string_view text) {
  sqlite3_bind_text64(statement_, at, text.data() == nullptr ? "" : text.data(), text.size(),
                      SQLITE_STATIC, SQLITE_UTF8);
}

bool Database::Statement::step_to_row() {
  return sqlite3_step(statement_) == SQLITE_ROW;
}

bool Database::Statement::is_done() {
  return sqlite3_step(statement_) == SQLITE_DONE;
}

bool Database::Statement::is_good() {
  return sqlite3_reset(statement_) == SQLITE_OK;
}

std::int64_t Database::Statement::number(int column) const {
  return sqlite3_column_int64(statement_, column);
}

std::string Database::Statement::bytes(int column) const {
  const auto* const bytes = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  if (bytes == nullptr) return {};
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

Result<std::unique_ptr<Database>> Database::open(const std::string& folder, const std::string& name,
                                                 const Tables& tables) {
  const auto opened = open_owned_folder(folder);
  if (!opened) return opened.error();
  const std::string path = folder + "/" + name;
  // It is closed before SQLite opens it: with that it would lose its locks.
  if (auto made = open_owned_file(opened->get(), path, name.c_str()); !made) return made.error();
  std::unique_ptr<Database> database(new Database(path));
  if (auto begun = database->begin(tables); !begun) return begun.error();
  return database;
}

Database::~Database() {
  sqlite3_close(database_);
}

Error Database::problem(const std::string& action) const {
  return error_in_words(action + " " + path_ + ": " +
                        (database_ == nullptr ? "no memory" : sqlite3_errmsg(database_)));
}

Result<void> Database::run(const char* sql) {
  if (sqlite3_exec(database_, sql, nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return problem("use");
}

Result<std::int64_t> Database::ask(const char* sql) {
  Statement statement(*this, sql);
  if (!statement) return problem("read");
  const std::int64_t value = statement.step_to_row() ? statement.number(0) : 0;
  if (!statement.is_good()) return problem("read");
  return value;
}

void Database::take_back() {
  if (sqlite3_get_autocommit(database_) == 0) (void)run("ROLLBACK");
}

std::int64_t Database::changes() const {
  return sqlite3_changes(database_);
}

Result<std::int64_t> Database::size() {
  return ask(
      "SELECT (p.page_count - f.freelist_count) * s.page_size FROM pragma_page_count p, "
      "pragma_freelist_count f, pragma_page_size s");
}

Result<void> Database::give_back(int pages) {
  const auto all = ask("PRAGMA page_count"), free = ask("PRAGMA freelist_count");
  if (!all || !free || *free <= 256 || *free <= *all / 4) return {};
  return run(("PRAGMA incremental_vacuum(" + std::to_string(pages) + ")").c_str());
}

Result<void> Database::begin(const Tables& tables) {
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  if (sqlite3_open_v2(path_.c_str(), &database_, flags, nullptr) != SQLITE_OK)
    return problem("open");
  sqlite3_extended_result_codes(database_, 1);
  sqlite3_busy_timeout(database_, kPatience);
  // EXCLUSIVE, before anything is read: what the log holds is looked up in memory of this process.
  for (const char* sql :
       {"PRAGMA locking_mode=EXCLUSIVE", "PRAGMA temp_store=MEMORY", "PRAGMA trusted_schema=OFF",
        "PRAGMA synchronous=NORMAL", "PRAGMA secure_delete=FAST"})
    if (auto done = run(sql); !done) return done;
  const auto version = ask("PRAGMA user_version");
  if (!version) return version.error();
  if (*version > tables.version)
    return error_in_words("use " + path_ + ": a newer ioc_exporter has written it");
  // Before there is anything in it: pages that are free can be given back.
  if (*version == 0)
    if (auto done = run("PRAGMA auto_vacuum=INCREMENTAL"); !done) return done;
  if (auto done = run("PRAGMA journal_mode=WAL"); !done) return done;
  if (*version == 0) {
    const std::string number = "PRAGMA user_version=" + std::to_string(tables.version);
    auto made = transact([&]() -> Result<void> {
      if (auto done = run(tables.sql); !done) return done;
      return run(number.c_str());
    });
    if (!made) return made;
  }
  sqlite3_db_config(database_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  return check_tables(tables);
}

// Nothing else: a view or a trigger is code of others.
Result<void> Database::check_tables(const Tables& tables) {
  Statement all(*this,
                "SELECT group_concat(sql, ';') FROM (SELECT sql FROM sqlite_schema WHERE name NOT "
                "LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY rowid)");
  if (!all || !all.step_to_row()) return problem("read");
  const bool is_ours = all.bytes(0) == tables.sql;
  if (!all.is_good()) return problem("read");
  return is_ours ? Result<void>()
                 : error_in_words("use " + path_ + ": its tables are not those of an exporter");
}

}  // namespace ioc_exporter::delivery
