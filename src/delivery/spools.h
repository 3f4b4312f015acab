// Spools: the folder of what waits on disk for sinks, NAME.sqlite with NAME.sqlite-wal for each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "delivery/database.h"
#include "delivery/spool.h"

namespace ioc_exporter::delivery {

class Spools {
 public:
  // `log`: how messages begin; `size`: bytes of each.
  Spools(std::string log, std::string folder, std::uint64_t size)
      : log_(std::move(log)), folder_(std::move(folder)), size_(size) {}
  Spools(const Spools&) = delete;
  Spools& operator=(const Spools&) = delete;

  const std::string& folder() const { return folder_; }
  std::uint64_t size() const { return size_; }
  bool empty() const { return spools_.empty(); }

  // For a sink of this name, which must be good for a file: its number.
  Result<std::size_t> add(const std::string& name);
  // Once they are open. Null: that one is broken.
  std::shared_ptr<Spool> at(std::size_t number) const { return spools_[number].open; }

  Result<UniqueFd> serve(std::size_t number, DatabaseFile file) const;  // in the helper
  // `ask`: for a file of the spool with this number, which serve() gives. One that is broken, or
  // cannot be opened, is left as it is, and told. Of those of no sink, too, is told. The error:
  // another process uses one.
  using Ask = std::function<Result<UniqueFd>(std::size_t number, DatabaseFile file)>;
  Result<void> open(const Ask& ask);

 private:
  struct Named {
    std::string file;
    std::shared_ptr<Spool> open;
  };
  Result<std::unique_ptr<Spool>> open_one(std::size_t number, const Ask& ask) const;
  void tell_of_others() const;

  const std::string log_, folder_;
  const std::uint64_t size_;
  std::vector<Named> spools_;
};

}  // namespace ioc_exporter::delivery
