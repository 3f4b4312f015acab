#include "traces/collector.h"

#include <algorithm>
#include <utility>

#include "base/random_salt.h"
#include "base/utf8.h"
#include "delivery/sink_families.h"
#include "exposition/page.h"
#include "kernel/map.h"
#include "puts/totals/put_families.h"

namespace ioc_exporter::traces {
namespace {

constexpr const char* kProbe = "traces";
// How long a demand's pattern is matched with the names of records.
constexpr std::chrono::seconds kMatchFor{2};
constexpr std::size_t kMostAtOnce = 4096;
// Chains of an IOC that has ended may still be on their way.
constexpr std::chrono::seconds kKeepEnded{15};

}  // namespace

TracesCollector::TracesCollector(const Options& options, TraceMaps& maps,
                                 records::RecordsCollector& records, puts::PutsCollector& puts,
                                 std::shared_ptr<putlog::Ring> log, putlog::Privacy privacy,
                                 const std::vector<TraceReceiver*>& receivers)
    : maps_(maps),
      records_(records),
      puts_(puts),
      counters_(works() ? records.process()->object().maps().traces : records::RecordTraceMaps()),
      selectors_(options, counters_),
      values_(std::move(log)),
      reader_(*this, random_salt()),
      privacy_(std::move(privacy)) {
  for (TraceReceiver* receiver : receivers)
    if (receiver != nullptr) receivers_.push_back(receiver);
}

TracesCollector::~TracesCollector() = default;  // the thread is the first to end

std::vector<ProbeState> TracesCollector::probes() const {
  if (!is_enabled()) return {};
  if (!maps_.problem().empty()) return {{kProbe, maps_.problem()}};
  if (!records_.trace_problem().empty()) return {{kProbe, records_.trace_problem()}};
  const bool no_records = records_.process() == nullptr;
  return {{kProbe, no_records ? "traces need --collector.records, and its probes" : ""}};
}

void TracesCollector::follow(TimePoint now) {
  if (!works()) return;
  const std::scoped_lock lock(mutex_);
  for (auto& [place, known] : known_) known.counted = false;
  for (const records::RecordsCollector::Counted& one : records_.counted()) {
    Known& known = known_[{one.slot, one.generation}];
    known.counted = known.ioc.runs = true;
    known.gone = now;
    const bool changed = known.ioc.name != one.name || known.ioc.database != one.database;
    if (!changed && known.chosen) continue;
    known.ioc.name = one.name;
    known.ioc.pid = one.pid;
    known.ioc.database = one.database;
    known.told = true;
    const auto added = selectors_.add(one.slot, one.generation, one.name, one.database, now);
    known.chosen = added.ok();  // else there may be room the next time
    trouble_.report("choose chains of ioc " + one.name, added);
  }
  for (auto& [place, known] : known_) {
    known.ioc.runs = known.counted;
    if (!known.counted && std::exchange(known.told, false))
      trouble_.report("forget an IOC's chains", selectors_.remove(place.first, place.second));
  }
  std::erase_if(known_, [&](const auto& entry) {
    return !entry.second.counted && now - entry.second.gone > kKeepEnded;
  });
}

// The thread starts with the first tick: before that, helper processes are still to be forked.
void TracesCollector::tick(TimePoint now) {
  if (!works()) return;
  {
    const std::scoped_lock lock(mutex_);
    trouble_.report("end what was asked for", selectors_.look(now));
    for (const auto& [place, known] : known_)
      if (known.counted) records_.time_all(place.first, selectors_.wants_all(place.first));
  }
  if (!thread_.joinable())
    thread_ = std::jthread([this](const std::stop_token& stop) {
      {
        const std::scoped_lock lock(mutex_);
        values_.look();  // from now on: the first trace comes at the same time as its put's value
      }
      maps_.ring()->serve(stop, sizeof(iocx_trace_chain),
                          [this](auto* rest) { return read_some(rest); });
    });
}

// Whether there is more to read. `rest`: at the end, how many events still are; else nullptr.
bool TracesCollector::read_some(std::size_t* rest) {
  const std::size_t most = rest == nullptr ? kMostAtOnce : std::min(kMostAtOnce, *rest);
  bool more = false, idle = false;
  {
    const std::scoped_lock lock(mutex_);
    auto taken = maps_.ring()->read(most, [this](auto event) {
      reader_.take(event);
      maps_.note_read(event);
    });
    reader_trouble_.report("read traces", taken ? Result<void>() : taken.error());
    const std::size_t read = taken ? *taken : 0;
    if (rest != nullptr) *rest -= read;
    more = read == most && (rest == nullptr || *rest > 0);
    values_.look();  // each time: followers that fall behind are disconnected
    idle = reader_.is_idle();
  }
  std::vector<SharedTrace> traces;
  if (!idle) {
    const std::scoped_lock lock(mutex_);
    for (Trace& trace : reader_.finish(WallClock::read(), rest != nullptr && !more)) {
      if (trace.cause.op == puts::kPvaPutOp)
        privacy_.hide_user(trace.cause.user);  // others: the log
      traces.push_back(std::make_shared<const Trace>(std::move(trace)));
    }
  }
  for (TraceReceiver* receiver : receivers_) receiver->receive(traces);  // none, too
  return more;
}

const TraceDirectory::Ioc* TracesCollector::ioc(std::uint32_t slot,
                                                std::uint32_t generation) const {
  const auto known = known_.find({slot, generation});
  return known == known_.end() ? nullptr : &known->second.ioc;
}

bool TracesCollector::name_put(const iocx_trace_put& put, Cause& cause) {
  iocx_putlog_event event{};
  event.time = put.time;
  event.id = put.id;
  event.slot = put.slot;
  event.generation = put.generation;
  event.sid = put.sid;
  event.source = IOCX_PUTLOG_CA_SERVER;
  event.op = put.op;
  std::copy(std::begin(put.address), std::end(put.address), std::begin(event.address));
  event.port = put.port;
  cause.op = put.op == 0 ? "write" : "write_notify";
  auto who = puts_.identify(event);
  if (!who) return false;
  cause.client = who->labels.client;
  if (put.sid != IOCX_INSIDE_SID) cause.client += ":" + std::to_string(who->place.port);
  if (!values_.is_logged()) cause.user = std::move(who->labels.user);  // else as the log has it
  cause.client_host = std::move(who->labels.host);
  cause.pv = std::move(who->labels.pv);
  if (const putlog::PutEvent* const logged = values_.find(put.time)) {
    cause.value = logged->value;
    cause.seq = logged->seq;
    cause.user = logged->user;  // hashed, where users are in the log
  } else if (values_.is_known()) {
    return false;
  }
  return !cause.pv.empty();
}

std::optional<std::uint64_t> TracesCollector::put_end(const iocx_trace_put& put) {
  return maps_.put_end(put);
}

std::string TracesCollector::link_name(std::uint32_t generation, std::uint64_t channel) {
  const iocx_trace_link_key key{channel, generation, 0};
  const auto known = counters_.links.lookup(key);
  if (!known || !*known) return "";
  const auto& pv = (*known)->pv;
  return printable_utf8({pv, ::strnlen(pv, sizeof pv)}, sizeof pv);
}

Result<std::size_t> TracesCollector::ask(const Demand& demand) {
  if (!works())
    return error_in_words("trace " + demand.records.text() + ": " +
                          (is_enabled() ? probes().front().problem : "--collector.traces is off"));
  if (detached_)
    return error_in_words("trace " + demand.records.text() + ": all probes are detached");
  std::vector<TraceSelectors::Place> places;
  {
    const std::scoped_lock lock(mutex_);
    if (auto may = selectors_.may_ask(demand, Clock::now()); !may) return may.error();
    places = selectors_.places();
  }
  auto matches = TraceSelectors::match(demand, places, Clock::now() + kMatchFor);  // scrapes go on
  if (!matches) return std::move(matches).error();
  const std::scoped_lock lock(mutex_);
  return selectors_.ask(demand, std::move(*matches), Clock::now());
}

void TracesCollector::end(const std::string& holder, const std::string& ticket) {
  if (!works()) return;
  const std::scoped_lock lock(mutex_);
  trouble_.report("end what was asked for", selectors_.end(holder, ticket));
}

void TracesCollector::add_drops_to(Drops& drops) {
  const auto counted = kernel::sum_per_cpu_counters(counters_.counts, IOCX_TRACE_COUNTS);
  const std::vector<std::uint64_t> counts =
      counted ? *counted : std::vector<std::uint64_t>(IOCX_TRACE_COUNTS);
  add_drops(drops, kProbe, counts, iocx_trace_drop_labels);
  drops[{kProbe, "full"}] += reader_.counts().crowded;
  drops[{kProbe, "unreadable"}] += reader_.counts().malformed + reader_.counts().unknown_ioc;
}

void TracesCollector::collect(exposition::Page& page) {
  if (!is_enabled()) return;
  const std::scoped_lock lock(mutex_);
  if (works()) add_drops_to(page.self.drops);
  for (const TraceReceiver* receiver : receivers_)
    delivery::add_sinks("traces", receiver->samples(), page.encoder, page.shared);
}

}  // namespace ioc_exporter::traces
