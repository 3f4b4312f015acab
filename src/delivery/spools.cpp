#include "delivery/spools.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>

#include "base/log.h"
#include "base/utf8.h"
#include "base/value_text.h"

namespace ioc_exporter::delivery {
namespace {

constexpr std::string_view kEnding = ".sqlite";
constexpr std::size_t kLongestName = 200, kMostTold = 16;

}  // namespace

Result<std::size_t> Spools::add(const std::string& name) {
  if (name.empty() || name.size() > kLongestName || name.starts_with('.') ||
      name.find_first_of(std::string_view("/\0", 2)) != std::string::npos)
    return error_in_words(log_ + ": " + shown(name) +
                          " cannot be the name of a sink that waits on disk: it names a file");
  spools_.push_back({name + std::string(kEnding), nullptr});
  return spools_.size() - 1;
}

Result<UniqueFd> Spools::serve(std::size_t number, DatabaseFile file) const {
  if (number >= spools_.size()) return error_in_words(log_ + ": there is no such queue on disk");
  return open_database_file(folder_, spools_[number].file, file);
}

Result<void> Spools::open(const Ask& ask) {
  for (std::size_t number = 0; number < spools_.size(); ++number) {
    auto spool = open_one(number, ask);
    if (!spool && spool.error().code == std::errc::device_or_resource_busy) return spool.error();
    // It is one of the exporter's works, and the others go on without it.
    if (spool)
      spools_[number].open = std::move(*spool);
    else
      log::error("{}: {}: nothing waits there until the exporter is started again", log_,
                 spool.error().message());
  }
  tell_of_others();
  return {};
}

Result<std::unique_ptr<Spool>> Spools::open_one(std::size_t number, const Ask& ask) const {
  auto database = ask(number, DatabaseFile::database);
  if (!database) return std::move(database).error();
  auto log = ask(number, DatabaseFile::log);
  if (!log) return std::move(log).error();
  return Spool::open(folder_ + "/" + spools_[number].file, {std::move(*database), std::move(*log)},
                     size_);
}

void Spools::tell_of_others() const {
  std::error_code none;
  std::size_t told = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, none)) {
    const std::string name = entry.path().filename();
    const bool is_ours = std::any_of(spools_.begin(), spools_.end(),
                                     [&name](const Named& spool) { return spool.file == name; });
    if (!name.ends_with(kEnding) || is_ours || ++told > kMostTold) continue;
    log::warn(
        "{}: {} is of no sink now and is kept: name a sink so to have sent what waits in it, "
        "or remove it with its -wal",
        log_, printable_utf8(entry.path().string(), 300));
  }
}

}  // namespace ioc_exporter::delivery
