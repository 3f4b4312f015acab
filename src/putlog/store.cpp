#include "putlog/store.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/json_reader.h"
#include "exposition/json_text.h"
#include "putlog/filter.h"
#include "putlog/json.h"

namespace ioc_exporter::putlog {
namespace {

using Statement = delivery::Database::Statement;

constexpr std::int64_t kVersion = 1;
constexpr const char* kTables =
    "CREATE TABLE puts(id INTEGER PRIMARY KEY, time INTEGER NOT NULL, run INTEGER NOT NULL, seq "
    "INTEGER NOT NULL, ioc TEXT, client TEXT, user TEXT, pv TEXT, action TEXT, line TEXT NOT NULL);"
    "CREATE INDEX puts_time ON puts(time)";
// Sizes of a step of reading and of removing.
constexpr std::size_t kPiece = 1 << 20;
// How often a question is answered with a sign of life.
constexpr std::chrono::milliseconds kSign{500};
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

// In the line of a write inside an IOC: a key has no backslash.
constexpr const char* kInside = "\"inside\":true";

// Names of a group's members in a line, which only a key has without a backslash.
std::vector<PutField> fields_in(const std::string& line) {
  std::vector<PutField> fields;
  if (line.find("\"fields\":[") == std::string::npos) return fields;
  const auto put = Json::parse(line);
  const Json* const list = put ? put->find("fields") : nullptr;
  if (list == nullptr || list->get_if<Json::Array>() == nullptr) return fields;
  for (const Json& one : list->items()) fields.emplace_back().field = one.text_at("field");
  return fields;
}

}  // namespace

Result<void> Store::open() {
  const std::scoped_lock lock(mutex_);
  return open_locked();
}

Result<void> Store::open_locked() {
  if (database_) return {};
  auto database = delivery::Database::open(folder_, "puts.sqlite", {kVersion, kTables});
  if (!database) return std::move(database).error();
  const auto last = (*database)->ask("SELECT run FROM puts ORDER BY id DESC LIMIT 1");
  if (!last) return last.error();
  database_ = std::move(*database);
  run_ = *last + 1;
  return {};
}

void Store::close() {
  const std::scoped_lock lock(mutex_);
  database_.reset();
}

Result<void> Store::add(std::span<const Entry> entries) {
  const std::scoped_lock lock(mutex_);
  if (auto opened = open_locked(); !opened) return opened;
  return database_->transact([&]() -> Result<void> {
    Statement insert(*database_,
                     "INSERT INTO puts(time, run, seq, ioc, client, user, pv, action, line) "
                     "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)");
    if (!insert) return database_->problem("write");
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
      if (!insert.is_done()) return database_->problem("write");
      (void)insert.is_good();
    }
    return {};
  });
}

// How many went.
Result<std::int64_t> Store::remove(const char* sql, std::int64_t oldest) {
  Statement statement(*database_, sql);
  if (!statement) return database_->problem("write");
  statement.bind(1, oldest);
  statement.bind(2, kRemoved);
  if (!statement.is_done()) return database_->problem("write");
  return database_->changes();
}

Result<void> Store::trim(std::chrono::system_clock::time_point now) {
  const std::scoped_lock lock(mutex_);
  if (auto opened = open_locked(); !opened) return opened;
  const auto oldest =
      nanoseconds(std::chrono::time_point_cast<std::chrono::nanoseconds>(now) - bounds_.age);
  for (int i = 0; i < kMostRemovals && bounds_.age.count() > 0; ++i) {
    const auto gone = remove(kRemoveOld, oldest);
    if (!gone) return gone.error();
    if (*gone < kRemoved) break;
  }
  for (int i = 0; i < kMostRemovals; ++i) {
    const auto used = database_->size();
    if (!used) return used.error();
    if (static_cast<std::uint64_t>(*used) <= bounds_.size) break;
    const auto gone = remove(kRemoveFirst, 0);
    if (!gone) return gone.error();
    if (*gone == 0) break;
  }
  // Free pages are used again; many of them go back to the disk.
  return database_->give_back(1024);
}

std::unique_ptr<Store::Reader> Store::read(PutQuery query, Before before) {
  return std::unique_ptr<Reader>(new Reader(*this, std::move(query), before));
}

Result<Since> Store::oldest() {
  const std::scoped_lock lock(mutex_);
  if (!database_) return Since();
  const auto time =
      database_->ask("SELECT time FROM puts INDEXED BY puts_time ORDER BY time LIMIT 1");
  if (!time) return time.error();
  if (*time == 0) return Since();
  return Since(std::chrono::sys_time<std::chrono::nanoseconds>(std::chrono::nanoseconds(*time)));
}

struct Store::Reader::Row {
  Key key;
  bool in_memory = false;  // of this exporter's memory
  PutEvent event;          // for filters
  std::string line;
};

Result<std::vector<Store::Reader::Row>> Store::Reader::rows(const char* sql,
                                                            std::optional<std::int64_t> since) {
  const std::scoped_lock lock(store_.mutex_);
  if (!store_.database_) return error_in_words("the store is not open");
  Statement row(*store_.database_, sql);
  if (!row) return store_.database_->problem("read");
  row.bind(1, at_->time);
  row.bind(2, at_->id);
  row.bind(3, kRows);
  if (since) row.bind(4, *since);
  std::vector<Row> found;
  for (std::size_t bytes = 0; bytes < kPiece && row.step_to_row();) {
    Row& one = found.emplace_back();
    one.key = Key{row.number(time_column), row.number(id_column)};
    one.event.ioc = row.bytes(ioc_column);
    one.event.client = row.bytes(client_column);
    one.event.user = row.bytes(user_column);
    one.event.pv = row.bytes(pv_column);
    one.event.action = row.bytes(action_column);
    one.line = row.bytes(line_column);
    one.event.inside = one.line.find(kInside) != std::string::npos;
    one.in_memory =
        row.number(run_column) == store_.run_ &&
        static_cast<std::uint64_t>(row.number(seq_column)) >= before_[RingOfPuts::share(one.event)];
    bytes += one.line.size();
  }
  if (!row.is_good()) return store_.database_->problem("read");
  return found;
}

bool Store::Reader::wants(Row& row) const {
  if (row.in_memory) return false;
  if (query_.filter.pv.include || query_.filter.pv.exclude) row.event.fields = fields_in(row.line);
  return query_.filter.wants(row.event);
}

// Back from the newest, to where the last so many begin.
Result<void> Store::Reader::look_back() {
  if (!at_) at_ = Key{std::numeric_limits<std::int64_t>::max(), 0};
  auto found = rows(kBack, query_.since ? nanoseconds(*query_.since) : 0);
  if (!found) return found.error();
  for (auto row = found->begin(); row != found->end() && counted_ < query_.limit; ++row) {
    at_ = row->key;
    if (wants(*row)) ++counted_;
  }
  forward_ = counted_ >= query_.limit || found->empty();
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
  auto found = rows(kForward, {});
  if (!found) return found.error();
  if (found->empty()) return std::optional<std::string>();
  std::string lines;
  for (Row& row : *found)
    if (wants(row)) lines.append(row.line).append(1, '\n');
  at_ = found->back().key;
  return std::optional(std::move(lines));
}

std::string question_of(std::size_t limit, Before before, const std::string& query) {
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  std::string question = std::to_string(limit) + ' ';
  for (const std::uint64_t one : before) question += std::to_string(one) + ' ';
  return question + std::to_string(now) + ' ' + query;
}

std::string error_line(const Error& error) {
  std::string text = "{\"error\":";
  exposition::append_json_text(text, error.message());
  return text + "}\n";
}

std::string reach_line(std::chrono::sys_time<std::chrono::nanoseconds> since) {
  return std::string("{\"") + kReach + "\":\"" + time_text(since) + "\"}\n";
}

void answer_question(Store& store, const std::string& question, int to) {
  using Clock = std::chrono::system_clock;
  std::istringstream words(question);
  std::size_t limit = 0;
  Before before{};
  Clock::rep now = 0;
  std::string text;
  words >> limit;
  for (std::uint64_t& one : before) words >> one;
  words >> now >> text;
  auto query = parse_put_query(text, Clock::time_point(Clock::duration(now)));
  if (!query) return;  // the exporter has read it already
  query->limit = limit;
  const Since since = query->since;
  const auto oldest = store.oldest();
  const auto reader = store.read(std::move(*query), before);
  auto told = Clock::now();
  std::string first = oldest && *oldest && since < *oldest ? reach_line(**oldest) : "";
  for (bool ends = false; !ends;) {
    auto lines = reader->next();
    ends = !lines || !*lines;
    text = std::exchange(first, {}) + (!lines ? error_line(lines.error()) : (*lines).value_or(""));
    if (ends) text += '\0';
    if (text.empty() && Clock::now() - told > kSign) text = "\n";
    if (!text.empty()) told = Clock::now();
    for (std::string_view rest = text; !rest.empty();) {
      const ssize_t written = ::write(to, rest.data(), rest.size());
      if (written < 0 && errno != EINTR) return;
      rest.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(0, written)));
    }
  }
}

}  // namespace ioc_exporter::putlog
