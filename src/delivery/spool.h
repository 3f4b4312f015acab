// Spool: what waits for one sink on disk, in order, bounded by what it takes there. It is there
// again when the next exporter opens it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "delivery/database.h"

namespace ioc_exporter::delivery {

class Spool {
 public:
  struct Row {
    std::uint64_t items = 0;  // that it stands for
    std::string bytes;
  };

  // `path` is for errors; `size`: bytes that it may take. Fails where the file is broken, or a
  // newer exporter's.
  static Result<std::unique_ptr<Spool>> open(const std::string& path, DatabaseFiles files,
                                             std::uint64_t size);

  // In any thread. Behind, or before, all that is there: all of them, or none where the spool or
  // its disk is full. `held`: bytes that may be prepended later, and have a place then.
  Result<void> append(std::span<const Row> rows, std::uint64_t held = 0);
  Result<void> prepend(std::span<const Row> rows);
  // The first ones, at most so many, and some MiB. They stay.
  Result<std::vector<Row>> first(std::size_t most);
  // They are done with. Where the error says that they cannot be removed now, they are, later; they
  // are not read again by this exporter.
  Result<void> remove_first(std::size_t rows, std::uint64_t items);
  // They are removed then, where that is possible now.
  bool has_removed() const { return has_removed_; }
  Result<void> remove_removed();
  // Another try does not help: what it holds is lost, and is not to be asked for again.
  bool is_broken() const { return is_broken_; }

  std::uint64_t rows() const { return rows_; }
  std::uint64_t items() const { return items_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  Spool(std::string path, std::unique_ptr<Database> database, std::uint64_t size)
      : path_(std::move(path)), size_(size), database_(std::move(database)) {}
  Result<void> count();
  Result<void> insert(std::span<const Row> rows, std::int64_t first, std::uint64_t limit);
  Result<void> settle();
  Result<void> remove_to(std::int64_t end);
  Result<void> remove_in_pieces(std::int64_t rows);
  Result<void> fail(const std::string& action);

  const std::string path_;
  const std::uint64_t size_;
  std::mutex mutex_;
  const std::unique_ptr<Database> database_;
  std::int64_t begin_ = 0, end_ = 0;  // numbers of the rows; of removed ones, too, until settle()
  std::int64_t removed_to_ = 0;       // in the database
  bool is_full_ = false;
  std::atomic<std::uint64_t> rows_ = 0, items_ = 0, bytes_ = 0;
  std::atomic<bool> is_broken_ = false, has_removed_ = false;
};

}  // namespace ioc_exporter::delivery
