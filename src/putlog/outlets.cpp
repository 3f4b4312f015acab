#include "putlog/outlets.h"

#include <optional>
#include <utility>

#include "base/log.h"
#include "delivery/otlp.h"
#include "putlog/json.h"
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

Outlets::Outlets(Privacy privacy, delivery::RingBounds bounds)
    : delivery::Outlets<PutKind>(
          [this](const HelperRequest& request, const UniqueFd&) { return serve_store(request); }),
      privacy_(std::move(privacy)),
      ring_(std::make_shared<Ring>(bounds)) {}

// The sinks' threads use what this has.
Outlets::~Outlets() {
  ring_->end();
  end_sinks();
}

Result<std::unique_ptr<Outlets>> Outlets::make(const OutletOptions& options,
                                               const std::string& version) {
  std::optional<std::string> salt;
  if (!options.salt_file.empty()) {
    auto read = Privacy::read_salt(options.salt_file);
    if (!read) return std::move(read).error();
    salt = std::move(*read);
  }
  auto outlets = std::make_unique<Outlets>(
      Privacy(options.hidden_values, std::move(salt)),
      delivery::RingBounds{options.memory_events, static_cast<std::size_t>(options.memory_bytes)});
  for (const SinkOptions& each : options.all_sinks()) {
    auto sink = outlets->make_sink(each, version);
    if (!sink) return std::move(sink).error();
    SinkSetup setup{.name = each.name, .filter = each.filter, .window = *each.burst};
    setup.sink = std::move(*sink);
    outlets->add(std::move(setup));
  }
  return outlets;
}

Result<std::unique_ptr<Sink>> Outlets::make_sink(const SinkOptions& options,
                                                 const std::string& version) {
  using Made = std::unique_ptr<Sink>;
  if (!options.file.empty()) return make_file_sink(options, append_json);
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
    files().add_folder(options.store);
    return Made(std::make_unique<StoreSink>([this] { return store_; }));
  }
  const auto place = delivery::parse_host_and_port(options.tcp);
  if (!place) return place.error();
  return Made(std::make_unique<TcpSink>(
      place->host, place->port, options.full_lines ? LineFormat::full : LineFormat::caputlog));
}

void Outlets::receive(std::span<const PutEvent> events) {
  std::vector<SharedEvent> shared;
  shared.reserve(events.size());
  for (const PutEvent& event : events) {
    auto own = std::make_shared<PutEvent>(event);
    privacy_.apply(*own);
    shared.push_back(std::move(own));
  }
  ring_->add(shared);
  give(shared);
}

std::vector<SinkSample> Outlets::samples() const {
  std::vector<SinkSample> all = sink_samples();
  all.push_back(ring_->sample());
  return all;
}

Result<UniqueFd> Outlets::serve_store(const HelperRequest& request) const {
  if (request.what > kOpenStoreLog) return error_in_words("put log: no such request");
  if (store_options_.store.empty()) return error_in_words("put log: there is no store");
  return open_store_file(store_options_.store, request.what == kOpenStoreLog
                                                   ? DatabaseFile::log
                                                   : DatabaseFile::database);
}

Result<void> Outlets::open_files() {
  if (auto opened = delivery::Outlets<PutKind>::open_files(); !opened) return opened;
  return store_options_.store.empty() ? Result<void>() : open_store();
}

Result<void> Outlets::open_store() {
  auto database = files().ask(kOpenStore);
  if (!database) return database.error();
  auto log = files().ask(kOpenStoreLog);
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
