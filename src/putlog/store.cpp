#include "putlog/store.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/file.h>

#include <cerrno>
#include <limits>
#include <string_view>
#include <thread>
#include <utility>

#include "base/owned_file.h"
#include "putlog/filter.h"
#include "putlog/json.h"

namespace ioc_exporter::putlog {
namespace {

constexpr const char* kName = "puts.sqlite";
constexpr const char* kLogName = "puts.sqlite-wal";
constexpr std::int64_t kVersion = 1;  // of the tables
// What is looked at, and what is removed, at a time.
constexpr std::size_t kPiece = 1 << 20;
constexpr int kRows = 1000, kRemoved = 4096, kMostRemovals = 16;
// The oldest by time; and of all an eighth at most, so that a small store is not emptied at once.
constexpr const char* kRemoveOld =
    "DELETE FROM puts WHERE id IN (SELECT id FROM puts WHERE time < ?1 ORDER BY time LIMIT ?2)";
constexpr const char* kRemoveFirst =
    "DELETE FROM puts WHERE id IN (SELECT id FROM puts ORDER BY id LIMIT "
    "min(?2, 1 + coalesce((SELECT max(id) - min(id) FROM puts), 0) / 8))";

// Columns of the two below.
enum Column {
  time_column,
  id_column,
  run_column,
  seq_column,
  ioc_column,
  client_column,
  user_column,
  pv_column,
  action_column,
  line_column
};
#define IOC_EXPORTER_PUTS \
  "SELECT time, id, run, seq, ioc, client, user, pv, action, line FROM puts INDEXED BY puts_time "
constexpr const char* kForward =
    IOC_EXPORTER_PUTS "WHERE time >= ?1 AND (time > ?1 OR id > ?2) ORDER BY time, id LIMIT ?3";
constexpr const char* kBack = IOC_EXPORTER_PUTS
    "WHERE time <= ?1 AND (time < ?1 OR id < ?2) AND time >= ?4 ORDER BY time DESC, id DESC LIMIT "
    "?3";
#undef IOC_EXPORTER_PUTS

std::int64_t nanoseconds(std::chrono::sys_time<std::chrono::nanoseconds> time) {
  return time.time_since_epoch().count();
}

}  // namespace

// A statement that is used once.
class Store::Statement {
 public:
  Statement(sqlite3* database, const char* sql) {
    sqlite3_prepare_v2(database, sql, -1, &statement_, nullptr);
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  explicit operator bool() const { return statement_ != nullptr; }
  sqlite3_stmt* get() const { return statement_; }
  void bind(int at, std::int64_t number) { sqlite3_bind_int64(statement_, at, number); }
  // The text must stay until the statement is done.
  void bind(int at, std::string_view text) {
    sqlite3_bind_text64(statement_, at, text.data() == nullptr ? "" : text.data(), text.size(),
                        SQLITE_STATIC, SQLITE_UTF8);
  }
  bool step_to_row() { return sqlite3_step(statement_) == SQLITE_ROW; }
  bool is_done() { return sqlite3_step(statement_) == SQLITE_DONE; }
  // That steps ended as they should.
  bool is_good() { return sqlite3_reset(statement_) == SQLITE_OK; }

 private:
  sqlite3_stmt* statement_ = nullptr;
};

// Of who writes.
class Store::Turn {
 public:
  explicit Turn(Store& store) : store_(store) {
    ++store_.writers_;
    store_.mutex_.lock();
  }
  ~Turn() {
    store_.mutex_.unlock();
    --store_.writers_;
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  Store& store_;
};

Result<UniqueFd> open_store_file(const std::string& folder, bool log) {
  const auto opened = open_owned_folder(folder);
  if (!opened) return opened.error();
  const char* const name = log ? kLogName : kName;
  const std::string path = folder + "/" + name;
  auto file = open_owned_file(opened->get(), path, name);
  if (!file || ::flock(file->get(), LOCK_EX | LOCK_NB) == 0) return file;
  return errno == EWOULDBLOCK ? error_from_errno(EBUSY, "use " + path + ": another exporter does")
                              : last_error("lock " + path);
}

Store::Store(std::string path, StoreFiles files, StoreBounds bounds)
    : path_(std::move(path)), bounds_(bounds), vfs_(std::move(files)) {}

Store::~Store() {
  sqlite3_close(database_);
}

Result<std::shared_ptr<Store>> Store::open(const std::string& path, StoreFiles files,
                                           StoreBounds bounds) {
  std::shared_ptr<Store> store(new Store(path, std::move(files), bounds));
  if (auto begun = store->begin(); !begun) return begun.error();
  return store;
}

Error Store::problem(const std::string& action) const {
  return error_in_words(action + " " + path_ + ": " +
                        (database_ == nullptr ? "no memory" : sqlite3_errmsg(database_)));
}

Result<void> Store::run(const char* sql) {
  if (sqlite3_exec(database_, sql, nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return problem("use");
}

Result<std::int64_t> Store::ask(const char* sql) {
  Statement statement(database_, sql);
  if (!statement) return problem("read");
  const std::int64_t value = statement.step_to_row() ? sqlite3_column_int64(statement.get(), 0) : 0;
  if (!statement.is_good()) return problem("read");
  return value;
}

Result<void> Store::begin() {
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  if (sqlite3_open_v2("puts.sqlite", &database_, flags, vfs_.name()) != SQLITE_OK)
    return problem("open");
  sqlite3_extended_result_codes(database_, 1);
  // EXCLUSIVE, before anything is read: what the log holds is looked up in memory of this process.
  // In WAL mode with synchronous=NORMAL what is committed survives the exporter's end, not the
  // host's.
  for (const char* sql :
       {"PRAGMA locking_mode=EXCLUSIVE", "PRAGMA temp_store=MEMORY", "PRAGMA trusted_schema=OFF",
        "PRAGMA synchronous=NORMAL", "PRAGMA secure_delete=FAST"})
    if (auto done = run(sql); !done) return done;
  const auto version = ask("PRAGMA user_version");
  if (!version) return version.error();
  if (*version > kVersion)
    return error_in_words("use " + path_ + ": a newer ioc_exporter has written it");
  // Before there is anything in it: without a journal in a file on the way to the log; pages that
  // are free can be given back.
  if (*version == 0)
    for (const char* sql : {"PRAGMA journal_mode=MEMORY", "PRAGMA auto_vacuum=INCREMENTAL",
                            "PRAGMA journal_mode=WAL"})
      if (auto done = run(sql); !done) return done;
  if (*version == 0)
    if (auto made = run("BEGIN;"
                        "CREATE TABLE puts(id INTEGER PRIMARY KEY, time INTEGER NOT NULL, run "
                        "INTEGER NOT NULL, seq INTEGER NOT NULL, ioc TEXT, client TEXT, user TEXT, "
                        "pv TEXT, action TEXT, line TEXT NOT NULL);"
                        "CREATE INDEX puts_time ON puts(time);"
                        "PRAGMA user_version=1;"
                        "COMMIT");
        !made)
      return made;
  sqlite3_db_config(database_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  const auto last = ask("SELECT run FROM puts ORDER BY id DESC LIMIT 1");
  if (!last) return last.error();
  run_ = *last + 1;
  return {};
}

Result<void> Store::add(std::span<const Entry> entries) {
  const Turn turn(*this);
  const auto take_back = [this](const Error& why) -> Result<void> {
    if (sqlite3_get_autocommit(database_) == 0) (void)run("ROLLBACK");
    return why;
  };
  if (auto begun = run("BEGIN IMMEDIATE"); !begun) return begun;
  Statement insert(database_,
                   "INSERT INTO puts(time, run, seq, ioc, client, user, pv, action, line) "
                   "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)");
  if (!insert) return take_back(problem("write"));
  std::string line;
  for (const Entry& entry : entries) {
    const PutEvent& event = *entry.event;
    line.clear();
    append_json(line, entry);
    int at = 0;
    for (const std::int64_t number :
         {nanoseconds(event.time), run_, static_cast<std::int64_t>(event.seq)})
      insert.bind(++at, number);
    for (const std::string* text :
         {&event.ioc, &event.client, &event.user, &event.pv, &event.action})
      insert.bind(++at, *text);
    insert.bind(++at, line);
    if (!insert.is_done()) return take_back(problem("write"));
    (void)insert.is_good();
  }
  if (auto done = run("COMMIT"); !done) return take_back(done.error());
  return {};
}

// How many went.
Result<std::int64_t> Store::remove(const char* sql, std::int64_t oldest) {
  Statement statement(database_, sql);
  if (!statement) return problem("write");
  statement.bind(1, oldest);
  statement.bind(2, kRemoved);
  if (!statement.is_done()) return problem("write");
  return sqlite3_changes(database_);
}

Result<void> Store::trim(std::chrono::system_clock::time_point now) {
  const Turn turn(*this);
  const auto size = [this]() -> Result<std::int64_t> {
    return ask(
        "SELECT (p.page_count - f.freelist_count) * s.page_size FROM pragma_page_count p, "
        "pragma_freelist_count f, pragma_page_size s");
  };
  const auto oldest =
      nanoseconds(std::chrono::time_point_cast<std::chrono::nanoseconds>(now) - bounds_.age);
  for (int i = 0; i < kMostRemovals && bounds_.age.count() > 0; ++i) {
    const auto gone = remove(kRemoveOld, oldest);
    if (!gone) return gone.error();
    if (*gone < kRemoved) break;
  }
  for (int i = 0; i < kMostRemovals; ++i) {
    const auto used = size();
    if (!used) return used.error();
    if (static_cast<std::uint64_t>(*used) <= bounds_.size) break;
    const auto gone = remove(kRemoveFirst, 0);
    if (!gone) return gone.error();
    if (*gone == 0) break;
  }
  // What is free is used again; much of it goes back to the disk.
  const auto pages = ask("PRAGMA page_count"), free = ask("PRAGMA freelist_count");
  if (pages && free && *free > 256 && *free > *pages / 4)
    return run("PRAGMA incremental_vacuum(1024)");
  return {};
}

std::unique_ptr<Store::Reader> Store::read(PutQuery query, std::uint64_t before) {
  return std::unique_ptr<Reader>(new Reader(*this, std::move(query), before));
}

struct Store::Reader::Row {
  Key key;
  bool in_memory = false;  // of this exporter's memory
  PutEvent event;          // what filters ask for
  std::string line;
};

Result<std::vector<Store::Reader::Row>> Store::Reader::rows(const char* sql,
                                                            std::optional<std::int64_t> since) {
  while (store_.writers_ > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const std::scoped_lock lock(store_.mutex_);
  Statement statement(store_.database_, sql);
  if (!statement) return store_.problem("read");
  statement.bind(1, at_->time);
  statement.bind(2, at_->id);
  statement.bind(3, kRows);
  if (since) statement.bind(4, *since);
  sqlite3_stmt* const row = statement.get();
  const auto text = [row](int column) {
    const auto* const bytes = static_cast<const char*>(sqlite3_column_blob(row, column));
    return bytes == nullptr
               ? std::string()
               : std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(row, column)));
  };
  std::vector<Row> found;
  for (std::size_t bytes = 0; bytes < kPiece && statement.step_to_row();) {
    Row& one = found.emplace_back();
    one.key = Key{sqlite3_column_int64(row, time_column), sqlite3_column_int64(row, id_column)};
    one.in_memory = sqlite3_column_int64(row, run_column) == store_.run_ &&
                    static_cast<std::uint64_t>(sqlite3_column_int64(row, seq_column)) >= before_;
    one.event.ioc = text(ioc_column);
    one.event.client = text(client_column);
    one.event.user = text(user_column);
    one.event.pv = text(pv_column);
    one.event.action = text(action_column);
    if (!since) one.line = text(line_column);
    bytes += one.line.size();
  }
  if (!statement.is_good()) return store_.problem("read");
  return found;
}

bool Store::Reader::wants(const Row& row) const {
  return !row.in_memory && query_.filter.wants(row.event);
}

// Back from the newest, to where the last so many begin.
Result<void> Store::Reader::look_back() {
  if (!at_) at_ = Key{std::numeric_limits<std::int64_t>::max(), 0};
  const auto found = rows(kBack, query_.since ? nanoseconds(*query_.since) : 0);
  if (!found) return found.error();
  for (auto row = found->begin(); row != found->end() && counted_ < query_.limit; ++row) {
    at_ = row->key;
    if (wants(*row)) ++counted_;
  }
  forward_ = counted_ >= query_.limit || found->size() < static_cast<std::size_t>(kRows);
  if (forward_) --at_->id;  // that one, too
  return {};
}

Result<std::optional<std::string>> Store::Reader::next() {
  if (!forward_ && query_.limit < SIZE_MAX) {
    if (auto looked = look_back(); !looked) return looked.error();
    return std::optional<std::string>("");
  }
  forward_ = true;
  if (!at_) at_ = Key{query_.since ? nanoseconds(*query_.since) : 0, -1};
  const auto found = rows(kForward, {});
  if (!found) return found.error();
  if (found->empty()) return std::optional<std::string>();
  std::string lines;
  for (const Row& row : *found)
    if (wants(row)) lines.append(row.line).append(1, '\n');
  at_ = found->back().key;
  return std::optional(std::move(lines));
}

}  // namespace ioc_exporter::putlog
