// Store: days of puts in a SQLite database, bounded by size and by age, for queries.
//
// One connection, behind a mutex, has the database to itself. What is read is read in pieces, so
// that a question about days holds nobody up.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "delivery/database.h"
#include "putlog/entry.h"
#include "putlog/put_query.h"
#include "putlog/ring.h"
#include "putlog/sink.h"

namespace ioc_exporter::putlog {

struct StoreBounds {
  std::uint64_t size = 1u << 30;
  std::chrono::milliseconds age = std::chrono::hours(24 * 30);  // 0: any age
};

// Numbers that puts in memory begin with, by RingOfPuts::share().
using Before = std::array<std::uint64_t, RingOfPuts::kShares>;

class Store {
 public:
  Store(std::string folder, StoreBounds bounds) : folder_(std::move(folder)), bounds_(bounds) {}

  // Where it is not open yet, as writing does it, too.
  Result<void> open();
  void close();

  // In any thread. All or none; once stored, they survive any end of the exporter.
  Result<void> add(std::span<const Entry> entries);
  // Removes puts over the bounds of age and size; a part of them, where they are very many.
  Result<void> trim(std::chrono::system_clock::time_point now);

  // A reader for one thread. It must not outlive the store.
  class Reader {
   public:
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

    // Lines, the oldest first, of a MiB or so; "" = none among those that were looked at; nothing:
    // the end.
    Result<std::optional<std::string>> next();

   private:
    friend class Store;
    Reader(Store& store, PutQuery query, Before before)
        : store_(store), query_(std::move(query)), before_(before) {}
    struct Row;
    // The next of them, copied: patterns are matched while others may read and write.
    Result<std::vector<Row>> rows(const char* sql, std::optional<std::int64_t> since);
    bool wants(Row& row) const;
    Result<void> look_back();

    // Of a row, by which they are in order.
    struct Key {
      std::int64_t time = 0, id = 0;
    };

    Store& store_;
    const PutQuery query_;
    const Before before_;
    std::optional<Key> at_;    // the last one that was looked at
    std::size_t counted_ = 0;  // back from the end, of the last ones that are asked for
    bool forward_ = false;
  };

  // Those since query.since that it wants, at most the last query.limit; of what this exporter saw
  // only those with a number below `before`.
  std::unique_ptr<Reader> read(PutQuery query, Before before);
  // Time of the first; nothing: there is none.
  Result<Since> oldest();

 private:
  Result<void> open_locked();
  Result<std::int64_t> remove(const char* sql, std::int64_t oldest);

  const std::string folder_;
  const StoreBounds bounds_;
  std::mutex mutex_;                              // of the members below
  std::unique_ptr<delivery::Database> database_;  // null: it is not open
  std::int64_t run_ = 0;  // the number of this exporter among those that wrote here
};

// Puts into the store, some hundred with each transaction.
class StoreSink : public Sink {
 public:
  explicit StoreSink(std::shared_ptr<Store> store) : store_(std::move(store)) {}
  ~StoreSink() override { store_->close(); }

  // A failure does not stop counting or other sinks.
  Result<void> open() override {
    if (const auto opened = store_->open(); !opened)
      log::error("put log: {}", opened.error().message());
    return {};
  }
  Delivered deliver(std::span<const Entry> entries) override {
    const auto some = entries.first(std::min(entries.size(), kAtOnce));
    if (auto added = store_->add(some); !added) return {0, added.error()};
    if (auto trimmed = tend(); !trimmed) return {some.size(), trimmed.error()};
    return {some.size()};
  }
  Result<void> tend() override { return store_->trim(std::chrono::system_clock::now()); }

 private:
  static constexpr std::size_t kAtOnce = 512;

  const std::shared_ptr<Store> store_;
};

// A question of one process to the other: a query by HTTP of this moment, of which the last `limit`
// puts with a number below `before` are wanted.
std::string question_of(std::size_t limit, Before before, const std::string& query);
// Lines as Reader has them, an empty one now and then as a sign of life, and at the end a zero
// byte. The last line is {"error":"..."} where the store cannot be read; the first one tells where
// it does not reach back far enough. Until that is closed.
void answer_question(Store& store, const std::string& question, int to);
// The line of an error.
std::string error_line(const Error& error);
std::string reach_line(std::chrono::sys_time<std::chrono::nanoseconds> since);

}  // namespace ioc_exporter::putlog
