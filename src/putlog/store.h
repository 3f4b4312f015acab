// Store: days of puts in a SQLite database, bounded by size and by age, for who asks what was.
//
// One connection, behind a mutex, has the database to itself. What is read is read in pieces, so
// that a question about days holds nobody up.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "delivery/database.h"
#include "putlog/entry.h"
#include "putlog/put_query.h"

namespace ioc_exporter::putlog {

struct StoreBounds {
  std::uint64_t size = 1u << 30;
  std::chrono::milliseconds age = std::chrono::hours(24 * 30);  // 0: whatever its age
};

// Opens puts.sqlite, or its log, in the folder, as open_database_file() does.
Result<UniqueFd> open_store_file(const std::string& folder, delivery::DatabaseFile file);

class Store {
 public:
  // How long a question waits for its turn.
  static constexpr std::chrono::milliseconds kReadPatience{2000};

  // `path` is for errors.
  static Result<std::shared_ptr<Store>> open(const std::string& path, delivery::DatabaseFiles files,
                                             StoreBounds bounds);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // The turn of a thread that writes: readers, who come again at once, let it go first.
  class Turn {
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

  // In any thread. All or none; they are there then, whatever ends the exporter.
  Result<void> add(std::span<const Entry> entries);
  // Removes what is too old, or too much. Some of it, where that is very much.
  Result<void> trim(std::chrono::system_clock::time_point now);

  // One who asks, for one thread. It must not outlive the store.
  class Reader {
   public:
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

    // Lines, the oldest first, of a MiB or so; "" = none among those that were looked at; nothing:
    // the end. An error where whoever writes keeps the store for longer than kReadPatience, on a
    // disk that hangs for example.
    Result<std::optional<std::string>> next();

   private:
    friend class Store;
    Reader(Store& store, PutQuery query, std::uint64_t before)
        : store_(store), query_(std::move(query)), before_(before) {}
    struct Row;
    // The next of them, copied: patterns are matched while others may read and write.
    // `since`: of those that go back, and have no lines.
    Result<std::vector<Row>> rows(const char* sql, std::optional<std::int64_t> since);
    bool wants(const Row& row) const;
    Result<void> look_back();

    // Of a row, by which they are in order.
    struct Key {
      std::int64_t time = 0, id = 0;
    };

    Store& store_;
    const PutQuery query_;
    const std::uint64_t before_;
    std::optional<Key> at_;    // the last one that was looked at
    std::size_t counted_ = 0;  // back from the end, of the last ones that are asked for
    bool forward_ = false;
  };

  // Those since query.since that it wants, at most the last query.limit; of what this exporter saw
  // only those with a number below `before`.
  std::unique_ptr<Reader> read(PutQuery query, std::uint64_t before);

 private:
  Store(std::unique_ptr<delivery::Database> database, StoreBounds bounds, std::int64_t run);
  std::unique_lock<std::timed_mutex> wait_to_read();  // not locked: it took too long
  Result<std::int64_t> remove(const char* sql, std::int64_t oldest);

  const StoreBounds bounds_;
  std::timed_mutex mutex_;
  std::atomic<int> writers_ = 0;  // that wait or write
  const std::unique_ptr<delivery::Database> database_;
  const std::int64_t run_;  // the number of this exporter among those that wrote here
};

}  // namespace ioc_exporter::putlog
