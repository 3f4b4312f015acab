#ifdef IOC_EXPORTER_KAFKA

#include "putlog/kafka_sink.h"

#include <librdkafka/rdkafka.h>
#include <syslog.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "base/log_bound.h"
#include "base/utf8.h"
#include "base/value_text.h"
#include "delivery/end_deadline.h"
#include "delivery/receiver.h"
#include "putlog/json.h"

namespace ioc_exporter::putlog {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Messages under way: fewer than are delivered at a time, so that they are always the first ones.
constexpr std::size_t kMostFlights = 1000;
constexpr milliseconds kPatience{1000}, kPause{1000};
constexpr std::size_t kLongestText = 200;
constexpr std::uint64_t kLines = 10;  // of the library's, a minute

struct Closer {
  void operator()(rd_kafka_conf_t* conf) const { rd_kafka_conf_destroy(conf); }
  void operator()(rd_kafka_t* producer) const {
    rd_kafka_purge(producer, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
    rd_kafka_destroy_flags(producer, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
  }
};
using Conf = std::unique_ptr<rd_kafka_conf_t, Closer>;
using Producer = std::unique_ptr<rd_kafka_t, Closer>;

// What the broker refuses of one message, whenever it is sent.
bool is_refused(rd_kafka_resp_err_t error) {
  return error == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE ||
         error == RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE || error == RD_KAFKA_RESP_ERR_INVALID_RECORD ||
         error == RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP;
}

class KafkaSink : public Sink {
 public:
  KafkaSink(std::string name, KafkaOptions options)
      : name_(std::move(name)), options_(std::move(options)) {}

  Result<void> configure(const std::map<std::string, std::string>& properties);
  Delivered deliver(std::span<const Entry> entries) override;

 private:
  enum class Flight : std::uint8_t { waiting, under_way, done, refused };

  Result<void> set(const char* name, const std::string& value);
  Result<void> open();
  void close();
  void send(std::span<const Entry> entries);
  rd_kafka_resp_err_t send_one(const Entry& entry, std::uint64_t id);
  bool is_settled() const;
  void take_settled(Delivered& done);
  void report(const rd_kafka_message_t& message);
  Error problem(const std::string& what) const {
    return error_in_words("send to Kafka at " + options_.brokers + ", topic " + options_.topic +
                          ": " + printable_utf8(what, kLongestText));
  }

  static void on_report(rd_kafka_t*, const rd_kafka_message_t* message, void* sink);
  static void on_error(rd_kafka_t*, int error, const char* text, void* sink);
  static void on_log(const rd_kafka_t* producer, int level, const char*, const char* text);

  const std::string name_;
  const KafkaOptions options_;
  Conf conf_;
  std::deque<Flight> flights_;  // of the first entries
  std::uint64_t first_id_ = 1;  // of the first flight
  std::string trouble_;         // of the library, or with the last message; "" = none
  std::string line_;
  std::mutex log_mutex_;  // the library's threads log
  LogBound log_bound_{kLines};
  Producer producer_;  // last: its threads end first
};

Result<void> KafkaSink::set(const char* name, const std::string& value) {
  std::array<char, 512> text{};
  if (rd_kafka_conf_set(conf_.get(), name, value.c_str(), text.data(), text.size()) ==
      RD_KAFKA_CONF_OK)
    return {};
  return error_in_words("put log: " + name_ + ": Kafka's property " + shown(name) + ": " +
                        printable_utf8(text.data(), kLongestText));
}

Result<void> KafkaSink::configure(const std::map<std::string, std::string>& properties) {
  conf_.reset(rd_kafka_conf_new());
  // As they came, once where the broker lets that be seen to; the site may say otherwise.
  for (const auto& [name, value] : {std::pair{"enable.idempotence", "true"},
                                    {"client.id", "ioc_exporter"},
                                    {"log.connection.close", "false"}})
    if (auto done = set(name, value); !done) return done;
  for (const auto& [name, value] : properties) {
    // Code that is loaded, and commands that are run.
    if (name.starts_with("plugin.") || name.starts_with("sasl.kerberos."))
      return error_in_words("put log: " + name_ + ": Kafka's property " + shown(name) +
                            " is not possible in this exporter");
    if (auto done = set(name.c_str(), value); !done) return done;
  }
  // What waits, waits here: a message is tried until the broker answers.
  for (const auto& [name, value] :
       {std::pair<const char*, std::string>{"bootstrap.servers", options_.brokers},
        {"message.timeout.ms", "0"},
        {"queue.buffering.max.messages", std::to_string(2 * kMostFlights)}})
    if (auto done = set(name, value); !done) return done;
  rd_kafka_conf_set_opaque(conf_.get(), this);
  rd_kafka_conf_set_dr_msg_cb(conf_.get(), on_report);
  rd_kafka_conf_set_error_cb(conf_.get(), on_error);
  rd_kafka_conf_set_log_cb(conf_.get(), on_log);
  return {};
}

// Its threads have the rights that this one has.
Result<void> KafkaSink::open() {
  if (producer_) return {};
  std::array<char, 512> text{};
  Conf conf(rd_kafka_conf_dup(conf_.get()));
  producer_.reset(rd_kafka_new(RD_KAFKA_PRODUCER, conf.get(), text.data(), text.size()));
  if (!producer_) return problem(text.data());
  (void)conf.release();  // it is the producer's
  return {};
}

// What is under way is sent again: whether it came is not known.
void KafkaSink::close() {
  producer_.reset();
  first_id_ += flights_.size();
  flights_.clear();
}

rd_kafka_resp_err_t KafkaSink::send_one(const Entry& entry, std::uint64_t id) {
  const PutEvent& event = *entry.event;
  line_.clear();
  append_json(line_, entry);
  const auto time = std::chrono::floor<milliseconds>(event.time.time_since_epoch()).count();
  return rd_kafka_producev(
      producer_.get(), RD_KAFKA_V_TOPIC(options_.topic.c_str()),
      RD_KAFKA_V_KEY(event.pv.data(), event.pv.size()),
      RD_KAFKA_V_VALUE(line_.data(), line_.size()), RD_KAFKA_V_TIMESTAMP(time),
      RD_KAFKA_V_HEADER("ioc", event.ioc.data(), static_cast<ssize_t>(event.ioc.size())),
      RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
      RD_KAFKA_V_OPAQUE(reinterpret_cast<void*>(static_cast<std::uintptr_t>(id))), RD_KAFKA_V_END);
}

void KafkaSink::send(std::span<const Entry> entries) {
  for (std::size_t i = 0; i < std::min(entries.size(), kMostFlights); ++i) {
    if (i == flights_.size()) flights_.push_back(Flight::waiting);
    if (flights_[i] != Flight::waiting) continue;
    const auto error = send_one(entries[i], first_id_ + i);
    if (error == RD_KAFKA_RESP_ERR_NO_ERROR) {
      flights_[i] = Flight::under_way;
      continue;
    }
    trouble_ = rd_kafka_err2str(error);
    if (!is_refused(error)) return;  // its queue is full, mostly
    flights_[i] = Flight::refused;
  }
}

bool KafkaSink::is_settled() const {
  return std::ranges::none_of(flights_, [](Flight flight) { return flight == Flight::under_way; });
}

// The first ones that were taken, and those behind them that never are.
void KafkaSink::take_settled(Delivered& done) {
  const auto take = [this](Flight state) {
    std::size_t count = 0;
    for (; !flights_.empty() && flights_.front() == state; ++count) flights_.pop_front();
    first_id_ += count;
    return count;
  };
  done.entries = take(Flight::done);
  done.refused = take(Flight::refused);
}

void KafkaSink::report(const rd_kafka_message_t& message) {
  const std::uint64_t id = reinterpret_cast<std::uintptr_t>(message._private);
  if (id < first_id_ || id >= first_id_ + flights_.size()) return;  // of a producer before
  Flight& flight = flights_[id - first_id_];
  if (message.err == RD_KAFKA_RESP_ERR_NO_ERROR) {
    flight = Flight::done;
    return;
  }
  flight = is_refused(message.err) ? Flight::refused : Flight::waiting;
  trouble_ = rd_kafka_err2str(message.err);
}

Sink::Delivered KafkaSink::deliver(std::span<const Entry> entries) {
  Delivered done;
  if (auto opened = open(); !opened) {
    done.problem = opened.error();
    return done;
  }
  send(entries);
  const auto until = std::min(Clock::now() + kPatience, delivery::EndDeadline::of_this_thread());
  do {
    rd_kafka_poll(producer_.get(), 20);
  } while (!is_settled() && Clock::now() < until);
  take_settled(done);
  std::array<char, 512> text{};
  if (rd_kafka_fatal_error(producer_.get(), text.data(), text.size()) !=
      RD_KAFKA_RESP_ERR_NO_ERROR) {
    trouble_ = text.data();
    close();
  }
  if (done.refused > 0) {
    done.problem = problem(trouble_);
    done.pause = milliseconds(0);
  } else if (done.entries == 0 && !trouble_.empty()) {
    done.problem = problem(trouble_);
    done.pause = kPause;  // it goes on by itself: this asks only what came of it
  } else {
    trouble_.clear();
  }
  return done;
}

void KafkaSink::on_report(rd_kafka_t*, const rd_kafka_message_t* message, void* sink) {
  static_cast<KafkaSink*>(sink)->report(*message);
}

void KafkaSink::on_error(rd_kafka_t*, int, const char* text, void* sink) {
  static_cast<KafkaSink*>(sink)->trouble_ = text;
}

void KafkaSink::on_log(const rd_kafka_t* producer, int level, const char*, const char* text) {
  auto* const sink = static_cast<KafkaSink*>(rd_kafka_opaque(producer));
  if (sink == nullptr || level > LOG_WARNING) return;
  {
    const std::scoped_lock lock(sink->log_mutex_);
    if (!sink->log_bound_.allows(Clock::now())) return;
  }
  try {
    log::warn("put log: {}: {}", sink->name_, printable_utf8(text, kLongestText));
  } catch (...) {  // no memory: nothing leaves a callback
  }
}

}  // namespace

std::string kafka_library() {
  return std::string("librdkafka ") + rd_kafka_version_str();
}

Result<std::unique_ptr<Sink>> make_kafka_sink(const std::string& name,
                                              const KafkaOptions& options) {
  const auto properties = read_kafka_properties(options.config_file);
  if (!properties) return properties.error();
  auto sink = std::make_unique<KafkaSink>(name, options);
  if (auto configured = sink->configure(*properties); !configured) return configured.error();
  std::string_view rest = options.brokers;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const auto place = delivery::parse_host_and_port(std::string(rest.substr(0, comma)));
    if (!place) return error_in_words("put log: " + name + ": " + place.error().message());
    delivery::look_up_once(place->host, PutKind::kLog);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  return std::unique_ptr<Sink>(std::move(sink));
}

}  // namespace ioc_exporter::putlog

#endif
