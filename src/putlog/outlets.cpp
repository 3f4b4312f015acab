#include "putlog/outlets.h"

#include <sys/stat.h>

#include <optional>
#include <utility>

#include "base/command_line.h"
#include "base/log.h"
#include "base/owned_file.h"
#include "base/tcp.h"
#include "putlog/journald_sink.h"
#include "putlog/loki_sink.h"
#include "putlog/store_sink.h"
#include "putlog/tcp_sink.h"

namespace ioc_exporter::putlog {
namespace {

constexpr std::string_view kHttp = "http://";

// That there is no such host now is no reason not to start.
void look_up_once(const std::string& host) {
  if (auto found = look_up(host); !found) log::warn("put log: {}", found.error().message());
}

}  // namespace

Outlets::Outlets(const OutletOptions& options)
    : ring_(std::make_shared<Ring>(
          QueueBounds{options.memory_events, static_cast<std::size_t>(options.memory_bytes)})) {}

Result<std::unique_ptr<Outlets>> Outlets::make(const OutletOptions& options) {
  std::optional<std::string> salt;
  if (!options.salt_file.empty()) {
    auto read = Privacy::read_salt(options.salt_file);
    if (!read) return std::move(read).error();
    salt = std::move(*read);
  }
  std::unique_ptr<Outlets> outlets(new Outlets(options));
  std::vector<SinkSetup> sinks;
  for (const SinkOptions& each : options.all_sinks()) {
    SinkSetup setup{.name = each.name, .filter = each.filter, .burst = *each.burst};
    auto sink = outlets->make_sink(each);
    if (!sink) return std::move(sink).error();
    setup.sink = std::move(*sink);
    sinks.push_back(std::move(setup));
  }
  outlets->fanout_ = std::make_unique<Fanout>(Privacy(options.hidden_values, std::move(salt)),
                                              *outlets->ring_, std::move(sinks));
  return outlets;
}

Result<std::unique_ptr<Sink>> Outlets::make_sink(const SinkOptions& options) {
  using Made = std::unique_ptr<Sink>;
  if (!options.file.empty()) {
    files_.push_back({options.file, options.count});
    auto sink = std::make_unique<FileSink>(options.file, FileBounds{options.size, options.age},
                                           opener_of(files_.size() - 1));
    file_sinks_.push_back(sink.get());
    return Made(std::move(sink));
  }
  if (!options.loki.empty()) {
    auto login = read_login(options.login_file);
    if (!login) return std::move(login).error();
    const auto place = parse_host_and_port(options.loki.substr(kHttp.size()));
    look_up_once(place ? place->host : options.loki.substr(kHttp.size()));
    return Made(std::make_unique<LokiSink>(
        LokiOptions{options.loki, std::move(*login), options.tenant, options.metadata}));
  }
  if (!options.store.empty()) {
    store_options_ = options;
    return Made(std::make_unique<StoreSink>([this] { return store_; }));
  }
  if (options.journald) return Made(std::make_unique<JournaldSink>());
  const auto place = parse_host_and_port(options.tcp);
  if (!place) return place.error();
  look_up_once(place->host);
  return Made(std::make_unique<TcpSink>(
      place->host, place->port, options.full_lines ? LineFormat::full : LineFormat::caputlog));
}

OpenLog Outlets::opener_of(std::size_t number) {
  return [this, number](bool rotate) { return ask(rotate ? Ask::rotate : Ask::open, number); };
}

Result<UniqueFd> Outlets::ask(Ask what, std::size_t number) {
  HelperRequest request;
  request.what = static_cast<std::uint32_t>(what);
  request.number = static_cast<std::uint32_t>(number);
  return helper_ ? helper_->ask(request) : serve(request, UniqueFd());
}

Result<UniqueFd> Outlets::serve(const HelperRequest& request, const UniqueFd&) {
  const auto what = static_cast<Ask>(request.what);
  if (what == Ask::open_store || what == Ask::open_store_log) {
    if (store_options_.store.empty()) return error_in_words("put log: there is no store");
    return open_store_file(store_options_.store, what == Ask::open_store_log);
  }
  if (request.number >= files_.size()) return error_in_words("put log: there is no such file");
  const LogFile& file = files_[request.number];
  switch (what) {
    case Ask::open:
      return open_log(file);
    case Ask::rotate:
      return rotate_log(file);
    default:
      break;
  }
  return error_in_words("put log: no such request");
}

void Outlets::use_helper(std::shared_ptr<Helper> helper) {
  helper_ = std::move(helper);
}

Result<uid_t> Outlets::owner_of_files() const {
  std::vector<std::string> folders;
  for (const LogFile& file : files_)
    folders.push_back(file.path.substr(0, std::max<std::size_t>(1, file.path.rfind('/'))));
  if (!store_options_.store.empty()) folders.push_back(store_options_.store);
  std::optional<uid_t> owner;
  for (const std::string& path : folders) {
    const auto folder = open_owned_folder(path);
    if (!folder) return folder.error();
    struct stat status {};
    if (::fstat(folder->get(), &status) != 0) return last_error("look at " + path);
    if (owner.value_or(status.st_uid) != status.st_uid)
      return error_in_words("put log: " + path + " belongs to another user than " +
                            folders.front());
    owner = status.st_uid;
  }
  if (!owner) return error_in_words("put log: there are no files");
  return *owner;
}

Result<void> Outlets::open_files() {
  for (FileSink* sink : file_sinks_)
    if (auto opened = sink->open(); !opened) return opened;
  return store_options_.store.empty() ? Result<void>() : open_store();
}

Result<void> Outlets::open_store() {
  auto database = ask(Ask::open_store);
  if (!database) return database.error();
  auto log = ask(Ask::open_store_log);
  if (!log) return log.error();
  auto store = Store::open(store_options_.store, {std::move(*database), std::move(*log)},
                           {store_options_.size, store_options_.age});
  // It is one of the exporter's works, and the others go on without it.
  if (!store) {
    log::error("put log: {}: puts are not kept there until the exporter is started again",
               store.error().message());
    return {};
  }
  store_ = std::move(*store);
  return {};
}

}  // namespace ioc_exporter::putlog
