#include "putlog/outlets.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "base/value_text.h"
#include "delivery/otlp.h"
#include "delivery/receiver_options.h"
#include "putlog/journald_sink.h"
#include "putlog/loki_sink.h"
#include "putlog/otlp_sink.h"
#include "putlog/store_sink.h"
#include "putlog/tcp_sink.h"

namespace ioc_exporter::putlog {
namespace {

using delivery::DatabaseFile;

constexpr auto kOpenStore = static_cast<std::uint32_t>(delivery::LogFiles::Ask::others);
constexpr std::uint32_t kOpenStoreLog = kOpenStore + 1, kOpenSpool = kOpenStore + 2,
                        kOpenSpoolLog = kOpenStore + 3;

DatabaseFile file_of(std::uint32_t what) {
  return what == kOpenStoreLog || what == kOpenSpoolLog ? DatabaseFile::log
                                                        : DatabaseFile::database;
}

bool is_same_folder(const std::string& one, const std::string& other) {
  // "/" at the end names the same; symbolic links are followed, and neither may be there yet.
  const auto plain = [](const std::string& path) {
    std::error_code none;
    return std::filesystem::weakly_canonical(path + "/.", none).lexically_normal();
  };
  return plain(one) == plain(other);
}

}  // namespace

Outlets::Outlets(const OutletOptions& options)
    : ring_(std::make_shared<Ring>(delivery::RingBounds{
          options.memory_events, static_cast<std::size_t>(options.memory_bytes)})),
      spools_(PutKind::kLog, options.spool, options.spool_size) {}

Result<std::unique_ptr<Outlets>> Outlets::make(const OutletOptions& options,
                                               const std::string& version) {
  std::optional<std::string> salt;
  if (!options.salt_file.empty()) {
    auto read = Privacy::read_salt(options.salt_file);
    if (!read) return std::move(read).error();
    salt = std::move(*read);
  }
  std::unique_ptr<Outlets> outlets(new Outlets(options));
  outlets->salt_ = salt;
  std::vector<SinkSetup> sinks;
  for (const SinkOptions& each : options.all_sinks()) {
    SinkSetup setup;
    setup.name = each.name;
    setup.filter = each.filter;
    setup.burst = *each.burst;
    auto sink = outlets->make_sink(each, version);
    if (sink && each.is_remote()) sink = outlets->with_spool(each.name, std::move(*sink));
    if (!sink) return std::move(sink).error();
    setup.sink = std::move(*sink);
    sinks.push_back(std::move(setup));
  }
  if (const std::string& store = outlets->store_options_.store;
      !store.empty() && !outlets->spools_.empty() && is_same_folder(store, options.spool))
    return error_in_words("put log: the store and what waits for receivers cannot both be in " +
                          shown(options.spool));
  outlets->fanout_ = std::make_unique<Fanout>(Privacy(options.hidden_values, std::move(salt)),
                                              *outlets->ring_, std::move(sinks));
  return outlets;
}

Result<std::unique_ptr<Sink>> Outlets::make_sink(const SinkOptions& options,
                                                 const std::string& version) {
  using Made = std::unique_ptr<Sink>;
  if (!options.file.empty()) {
    auto sink = std::make_unique<FileSink>(options.file, FileBounds{options.size, options.age},
                                           files_.add({options.file, options.count}));
    file_sinks_.push_back(sink.get());
    return Made(std::move(sink));
  }
  if (const std::string& url = options.loki.empty() ? options.otlp : options.loki; !url.empty()) {
    auto receiver = delivery::open_receiver(PutKind::kLog, url, options.receiver);
    if (!receiver) return std::move(receiver).error();
    if (!options.loki.empty())
      return Made(std::make_unique<LokiSink>(std::move(*receiver), options.metadata));
    return Made(std::make_unique<OtlpSink>(std::move(*receiver),
                                           delivery::otlp::Sender::of_this_host(version)));
  }
  if (!options.store.empty()) {
    store_options_ = options;
    return Made(std::make_unique<StoreSink>([this] { return store_; }));
  }
  if (!options.kafka.topic.empty()) return make_kafka_sink(options.name, options.kafka);
  if (options.journald) return Made(std::make_unique<JournaldSink>());
  const auto place = delivery::parse_host_and_port(options.tcp);
  if (!place) return place.error();
  delivery::look_up_once(place->host, PutKind::kLog);
  return Made(std::make_unique<TcpSink>(
      place->host, place->port, options.full_lines ? LineFormat::full : LineFormat::caputlog));
}

Result<std::unique_ptr<Sink>> Outlets::with_spool(const std::string& name,
                                                  std::unique_ptr<Sink> sink) {
  if (spools_.folder().empty()) return sink;
  const auto number = spools_.add(name);
  if (!number) return number.error();
  // Memory, and what is taken of it to be sent, goes to a queue on disk at the end, and fits there.
  QueueBounds memory;
  memory.bytes = std::min<std::uint64_t>(memory.bytes, spools_.size() / 4);
  return std::unique_ptr<Sink>(std::make_unique<SpoolSink>(
      name, std::move(sink), memory, [this, at = *number] { return spools_.at(at); }));
}

Result<UniqueFd> Outlets::serve_other(const HelperRequest& request) const {
  if (request.what > kOpenSpoolLog) return error_in_words("put log: no such request");
  const DatabaseFile file = file_of(request.what);
  if (request.what >= kOpenSpool) return spools_.serve(request.number, file);
  if (store_options_.store.empty()) return error_in_words("put log: there is no store");
  return open_store_file(store_options_.store, file);
}

Result<uid_t> Outlets::owner_of_files() const {
  std::vector<std::string> folders;
  if (!store_options_.store.empty()) folders.push_back(store_options_.store);
  if (!spools_.empty()) folders.push_back(spools_.folder());
  return files_.owner(folders);
}

Result<void> Outlets::open_files() {
  for (FileSink* sink : file_sinks_)
    if (auto opened = sink->open(); !opened) return opened;
  if (!spools_.empty())
    if (auto opened = spools_.open([this](std::size_t number, DatabaseFile file) {
          return files_.ask(file == DatabaseFile::log ? kOpenSpoolLog : kOpenSpool, number);
        });
        !opened)
      return opened;
  return store_options_.store.empty() ? Result<void>() : open_store();
}

Result<void> Outlets::open_store() {
  auto database = files_.ask(kOpenStore);
  if (!database) return database.error();
  auto log = files_.ask(kOpenStoreLog);
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
