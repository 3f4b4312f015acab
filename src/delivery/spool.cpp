#include "delivery/spool.h"

#include <algorithm>
#include <utility>

#include "base/value_text.h"

namespace ioc_exporter::delivery {
namespace {

using Statement = Database::Statement;

constexpr std::int64_t kVersion = 1;
constexpr const char* kTables =
    "CREATE TABLE queue(id INTEGER PRIMARY KEY, items INTEGER NOT NULL, bytes BLOB NOT NULL)";
constexpr std::size_t kPiece = 4u << 20;  // that is read at a time
// There is always room for more of them before and behind.
constexpr std::int64_t kLargestNumber = std::int64_t{1} << 62;

}  // namespace

Result<std::unique_ptr<Spool>> Spool::open(const std::string& path, DatabaseFiles files,
                                           std::uint64_t size) {
  auto database = Database::open(path, std::move(files), {kVersion, kTables});
  if (!database) return std::move(database).error();
  std::unique_ptr<Spool> spool(new Spool(path, std::move(*database), size));
  if (auto counted = spool->count(); !counted) return counted.error();
  return spool;
}

Result<void> Spool::fail(const std::string& action) {
  Error problem = database_->problem(action);
  if (database_->is_broken()) is_broken_ = true;
  return problem;
}

Result<void> Spool::count() {
  Statement all(*database_,
                "SELECT count(*), coalesce(sum(items), 0), coalesce(min(id), 0), "
                "coalesce(max(id) + 1, 0), coalesce(min(items), 1), coalesce(sum(typeof(items) != "
                "'integer' OR typeof(bytes) != 'blob'), 0) FROM queue");
  if (!all || !all.step_to_row()) return fail("read");
  rows_ = static_cast<std::uint64_t>(all.number(0));
  items_ = static_cast<std::uint64_t>(all.number(1));
  begin_ = removed_to_ = all.number(2);
  end_ = all.number(3);
  // Numbers without holes are what removing the first ones rests on.
  if (begin_ < -kLargestNumber || end_ > kLargestNumber || end_ - begin_ != all.number(0) ||
      all.number(4) < 1 || all.number(5) > 0)
    return error_in_words("use " + path_ + ": its rows are not those of an exporter");
  if (!all.is_good()) return fail("read");
  const auto size = database_->size();
  if (!size) return size.error();
  bytes_ = static_cast<std::uint64_t>(*size);
  return {};
}

Result<void> Spool::insert(std::span<const Row> rows, std::int64_t first, std::uint64_t limit) {
  std::uint64_t items = 0, bytes = 0;
  for (const Row& row : rows) {
    items += row.items;
    bytes += row.bytes.size();
  }
  if (bytes_ + bytes > limit)
    return error_in_words("write " + path_ + ": it has the " + bytes_text(size_) +
                          " that it may take");
  if (!database_->has_room_on_disk(bytes))
    return error_in_words("write " + path_ + ": the disk is full");
  auto done = database_->transact([&]() -> Result<void> {
    Statement insert(*database_, "INSERT INTO queue(id, items, bytes) VALUES(?1, ?2, ?3)");
    if (!insert) return fail("write");
    std::int64_t id = first;
    for (const Row& row : rows) {
      insert.bind(1, id++);
      insert.bind(2, static_cast<std::int64_t>(row.items));
      insert.bind_blob(3, row.bytes);
      if (!insert.is_done()) return fail("write");
      (void)insert.is_good();
    }
    return {};
  });
  if (!done) return done;
  rows_ += rows.size();
  items_ += items;
  if (const auto size = database_->size()) bytes_ = static_cast<std::uint64_t>(*size);
  return {};
}

Result<void> Spool::append(std::span<const Row> rows, std::uint64_t held) {
  const std::scoped_lock lock(mutex_);
  if (is_broken_) return error_in_words("use " + path_ + ": it is broken");
  // Once it is full, it is until an eighth has left: not again and again.
  const std::uint64_t limit = (is_full_ ? size_ - size_ / 8 : size_) - std::min(held, size_ / 2);
  is_full_ = true;
  if (auto done = insert(rows, end_, limit); !done) return done;
  is_full_ = false;
  end_ += static_cast<std::int64_t>(rows.size());
  return {};
}

Result<void> Spool::prepend(std::span<const Row> rows) {
  const std::scoped_lock lock(mutex_);
  if (auto done = settle(); !done) return done;
  const auto first = begin_ - static_cast<std::int64_t>(rows.size());
  if (auto done = insert(rows, first, size_); !done) return done;
  begin_ = removed_to_ = first;
  return {};
}

Result<std::vector<Spool::Row>> Spool::first(std::size_t most) {
  const std::scoped_lock lock(mutex_);
  Statement row(*database_,
                "SELECT items, bytes FROM queue WHERE id >= ?1 AND id < ?2 ORDER BY id");
  if (!row) return fail("read").error();
  row.bind(1, begin_);
  row.bind(2, std::min(end_, begin_ + static_cast<std::int64_t>(most)));
  std::vector<Row> found;
  for (std::size_t bytes = 0; bytes < kPiece && row.step_to_row();) {
    found.push_back({static_cast<std::uint64_t>(row.number(0)), row.bytes(1)});
    bytes += found.back().bytes.size();
  }
  if (!row.is_good()) return fail("read").error();
  return found;
}

Result<void> Spool::remove_first(std::size_t rows, std::uint64_t items) {
  const std::scoped_lock lock(mutex_);
  begin_ += static_cast<std::int64_t>(rows);
  rows_ -= rows;
  items_ -= items;
  return settle();
}

Result<void> Spool::remove_removed() {
  const std::scoped_lock lock(mutex_);
  return settle();
}

Result<void> Spool::remove_to(std::int64_t end) {
  {
    Statement remove(*database_, "DELETE FROM queue WHERE id < ?1");
    if (!remove) return fail("write");
    remove.bind(1, end);
    if (!remove.is_done()) return fail("write");
  }
  removed_to_ = end;
  return {};
}

Result<void> Spool::remove_in_pieces(std::int64_t rows) {
  constexpr std::int64_t kFew = 1024;
  while (removed_to_ < begin_) {
    if (auto done = remove_to(std::min(begin_, removed_to_ + rows)); !done) return done;
    if (rows > kFew) continue;
    if (auto done = database_->run("PRAGMA wal_checkpoint(RESTART)"); !done) return done;
  }
  return {};
}

// What is done with leaves the database.
Result<void> Spool::settle() {
  if (removed_to_ == begin_) return {};
  has_removed_ = true;
  auto removed = remove_in_pieces(4096);
  // On a full disk: so few at a time that they have place in the log as it is, once all in it
  // stands in the database.
  if (!removed && !is_broken_) {
    removed = database_->run("PRAGMA wal_checkpoint(TRUNCATE)");
    if (removed) removed = remove_in_pieces(64);
  }
  if (!removed) return removed;
  has_removed_ = false;
  if (const auto size = database_->size()) bytes_ = static_cast<std::uint64_t>(*size);
  // What is empty keeps nothing of what people did, and takes no room.
  // Where the disk is full, what is free is only used again.
  if (rows_ > 0) {
    (void)database_->give_back(1024);
    return {};
  }
  (void)database_->run("PRAGMA incremental_vacuum");
  return database_->run("PRAGMA wal_checkpoint(TRUNCATE)");
}

}  // namespace ioc_exporter::delivery
