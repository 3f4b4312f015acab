#include "putlog/outlets.h"

#include <optional>
#include <utility>

#include "base/log.h"
#include "delivery/otlp.h"
#include "delivery/receiver_options.h"
#include "putlog/loki_sink.h"
#include "putlog/otlp_sink.h"
#include "putlog/store_sink.h"
#include "putlog/tcp_sink.h"

namespace ioc_exporter::putlog {
namespace {

using delivery::DatabaseFile;

constexpr auto kOpenStore = static_cast<std::uint32_t>(delivery::LogFiles::Ask::others);
constexpr std::uint32_t kOpenStoreLog = kOpenStore + 1;

}  // namespace

Outlets::Outlets(const OutletOptions& options)
    : ring_(std::make_shared<Ring>(delivery::RingBounds{
          options.memory_events, static_cast<std::size_t>(options.memory_bytes)})) {}

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
    if (!sink) return std::move(sink).error();
    setup.sink = std::move(*sink);
    sinks.push_back(std::move(setup));
  }
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
  const auto place = delivery::parse_host_and_port(options.tcp);
  if (!place) return place.error();
  return Made(std::make_unique<TcpSink>(
      place->host, place->port, options.full_lines ? LineFormat::full : LineFormat::caputlog));
}

Result<UniqueFd> Outlets::serve_other(const HelperRequest& request) const {
  if (request.what > kOpenStoreLog) return error_in_words("put log: no such request");
  if (store_options_.store.empty()) return error_in_words("put log: there is no store");
  return open_store_file(store_options_.store, request.what == kOpenStoreLog
                                                   ? DatabaseFile::log
                                                   : DatabaseFile::database);
}

Result<uid_t> Outlets::owner_of_files() const {
  std::vector<std::string> folders;
  if (!store_options_.store.empty()) folders.push_back(store_options_.store);
  return files_.owner(folders);
}

Result<void> Outlets::open_files() {
  for (FileSink* sink : file_sinks_)
    if (auto opened = sink->open(); !opened) return opened;
  return store_options_.store.empty() ? Result<void>() : open_store();
}

std::vector<SinkSample> Outlets::samples() const {
  std::vector<SinkSample> all = fanout_->samples();
  all.push_back(ring_->sample());
  return all;
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
