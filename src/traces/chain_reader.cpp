#include "traces/chain_reader.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "puts/pva/put_labels.h"
#include "records/families/samples.h"
#include "records/probe/threads.h"
#include "traces/causes.h"
#include "traces/json.h"
#include "traces/span_tree.h"

namespace ioc_exporter::traces {
namespace {

static_assert(sizeof(iocx_trace_config) == 32 && sizeof(iocx_trace_wish_key) == 16);
static_assert(sizeof(iocx_trace_wish) == 24 && sizeof(iocx_trace_span) == 40);
static_assert(sizeof(iocx_trace_put) == 40 && offsetof(iocx_trace_put, sp) == 36);
static_assert(sizeof(iocx_trace_chain) == 128 && offsetof(iocx_trace_chain, put) == 48);
static_assert(offsetof(iocx_trace_thread, spans) == sizeof(iocx_trace_chain));
static_assert(sizeof(iocx_trace_link_key) == 16 && sizeof(iocx_trace_link) == IOCX_TRACE_PV);
static_assert(sizeof(iocx_trace_pva_put) == 24 + sizeof(iocx_pva_key));

constexpr std::pair<iocx_trace_why, const char*> kWhy[] = {{IOCX_TRACE_RATE, "rate"},
                                                           {IOCX_TRACE_ASKED, "asked"},
                                                           {IOCX_TRACE_SLOWER, "slower"},
                                                           {IOCX_TRACE_ALARM, "alarm"},
                                                           {IOCX_TRACE_ACTIVE, "active"}};

std::uint64_t ns(std::chrono::nanoseconds duration) {
  return static_cast<std::uint64_t>(duration.count());
}

// Any bits to any others, one to one (splitmix64).
std::uint64_t mixed(std::uint64_t bits) {
  bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9u;
  bits = (bits ^ bits >> 27) * 0x94D049BB133111EBu;
  return bits ^ bits >> 31;
}

SpanId span_id(std::uint64_t chain, std::uint16_t number) {
  const SpanId id = mixed(chain + (std::uint64_t{number} << 48));
  return id == 0 ? 1 : id;
}

TraceId trace_id(std::uint64_t salt, std::uint64_t chain) {
  TraceId id;
  const std::uint64_t halves[] = {salt, mixed(chain ^ salt) | 1};
  static_assert(sizeof halves == sizeof(TraceId));
  std::memcpy(id.data(), halves, sizeof halves);
  return id;
}

std::string_view text_of(const char (&comm)[IOCX_COMM_LEN]) {
  return {comm, ::strnlen(comm, sizeof comm)};
}

// "0.1": as menuScan has it, ".1 second".
std::string scan_text(std::string_view thread) {
  const records::ScanPeriod period = records::scan_period(thread);
  if (period.text.empty()) return "";
  return period.text.substr(period.text.starts_with("0.") ? 1 : 0) + " second";
}

// Nothing tells when a put in the middle of a trace ends: not before what it processes.
void lengthen_inside_puts(std::vector<Span>& spans) {
  std::unordered_map<SpanId, Span*> puts;
  for (Span& span : spans)
    if (span.kind == SpanKind::inside_put && span.parent != 0)
      puts.emplace(span.id, &span);
    else if (const auto put = puts.find(span.parent); put != puts.end())
      put->second->duration =
          std::max(put->second->duration, span.start + span.duration - put->second->start);
}

void name_record(Span& span, const Database* database, std::uint64_t address) {
  const std::uint32_t index =
      database == nullptr ? RecordSample::kUnknown : records::record_index(*database, address);
  if (index == RecordSample::kUnknown) {
    span.name = "0x" + id_text(address);
    return;
  }
  const RecordIdentity& record = database->records[index];
  span.name = record.name;
  if (record.type < database->types.size()) span.record_type = database->types[record.type];
}

}  // namespace

bool ChainReader::take(std::span<const std::byte> raw) {
  iocx_trace_chain head;
  std::uint32_t kind = 0;
  if (raw.size() >= sizeof kind) std::memcpy(&kind, raw.data(), sizeof kind);
  if (kind == IOCX_TRACE_PVA_PUT && raw.size() == sizeof(iocx_trace_pva_put)) {
    iocx_trace_pva_put put;
    std::memcpy(&put, raw.data(), sizeof put);
    puts::PutLabels labels = puts::labels_of(0, put.key);
    Cause& cause = pva_puts_[put.id];
    cause.pv = std::move(labels.pv);
    cause.user = std::move(labels.user);
    cause.client_host = std::move(labels.host);
    cause.client = std::move(labels.client);
    cause.op = "put";
    return true;
  }
  if (raw.size() < sizeof head) return ++counts_.malformed, false;
  std::memcpy(&head, raw.data(), sizeof head);
  Waiting* const trace = kind == IOCX_TRACE_COMPLETION ? waiting_of(head.id)
                         : kind == IOCX_TRACE_GOES_ON  ? waiting_of(head.parent_id)
                                                       : nullptr;
  if (kind == IOCX_TRACE_CHAIN) return take_chain(head, raw.subspan(sizeof head));
  if (kind >= IOCX_TRACE_KINDS) return ++counts_.malformed, false;
  if (trace == nullptr) return true;  // it could not wait any longer
  trace->settled_ns = head.now_ns + ns(kSettle);
  if (kind == IOCX_TRACE_COMPLETION) {
    if (trace->open.erase({head.id, head.parent_span}) > 0)
      trace->completions[{head.id, head.parent_span}] = {head.now_ns, head.owner,
                                                         std::string(text_of(head.comm))};
  } else {
    trace->expected.insert(head.id);
    places_.emplace(head.id, places_.at(head.parent_id));
  }
  return true;
}

bool ChainReader::take_chain(const iocx_trace_chain& head, std::span<const std::byte> spans) {
  if (head.spans > IOCX_TRACE_SPANS || spans.size() < head.spans * sizeof(iocx_trace_span))
    return ++counts_.malformed, false;
  Chain chain;
  if (const auto before = partial_.extract(head.id)) chain = std::move(before.mapped());
  const unsigned expected = chain.head.id == 0 ? 0 : chain.head.part + 1u;
  chain.incomplete |= head.part != expected;
  const iocx_trace_put put = chain.head.put;  // told with the first part
  chain.head = head;
  if (chain.head.put.time == 0) chain.head.put = put;
  const std::size_t had = chain.spans.size();
  chain.spans.resize(had + head.spans);
  if (head.spans > 0)
    std::memcpy(&chain.spans[had], spans.data(), head.spans * sizeof(iocx_trace_span));
  spans_ += head.spans;
  if (head.last != 0)
    add(std::move(chain));
  else
    partial_.emplace(head.id, std::move(chain));
  return true;
}

ChainReader::Waiting* ChainReader::waiting_of(std::uint64_t chain) {
  const auto place = places_.find(chain);
  return place == places_.end() ? nullptr : &waiting_.at(place->second);
}

// A chain that is whole.
void ChainReader::add(Chain chain) {
  const iocx_trace_chain& head = chain.head;
  const bool continues = head.parent_id != 0;
  Waiting* trace = continues ? waiting_of(head.parent_id) : nullptr;
  if (trace != nullptr) {
    trace->expected.erase(head.id);
    places_.emplace(head.id, places_.at(head.parent_id));
  } else {
    places_[head.id] = next_place_;
    trace = &waiting_[next_place_++];
    trace->is_named = head.put.time == 0;
    trace->put_waits = head.put.time != 0 && head.put.waits != 0;
    trace->until_ns = head.now_ns + ns(kPatience);
    // Sent before what the record's forward link processes.
    if (head.cause == IOCX_CAUSE_DIRECT) trace->settled_ns = head.now_ns + ns(kSettle);
    if (auto put = pva_puts_.extract(head.id)) trace->put = std::move(put.mapped());
    trace->id = trace_id(salt_, continues ? head.parent_id : head.id);
  }
  for (const iocx_trace_span& span : chain.spans)
    if ((span.flags & IOCX_TRACE_SPAN_ASYNCHRONOUS) != 0)
      trace->open.insert({head.id, span.number});
  trace->spans += chain.spans.size();
  trace->chains.push_back(std::move(chain));
}

bool ChainReader::name_put(Waiting& trace, std::uint64_t now_ns) {
  if (trace.is_named) return true;
  const iocx_trace_chain& head = trace.chains.front().head;
  trace.is_named = directory_.name_put(head.put, trace.put);
  return trace.is_named || now_ns >= head.now_ns + ns(kNamePatience);
}

// Looks ever more rarely: it may be a motor that moves.
bool ChainReader::has_put_end(Waiting& trace, std::uint64_t now_ns) {
  if (!trace.put_waits) return true;
  if (now_ns < trace.look_ns) return false;
  const iocx_trace_chain& head = trace.chains.front().head;
  const auto end = directory_.put_end(head.put);
  const auto* const ioc = directory_.ioc(head.slot, head.generation);
  trace.look_ns =
      now_ns + std::min<std::uint64_t>(ns(std::chrono::seconds(1)), (now_ns - head.start_ns) / 16);
  if (!end && ioc != nullptr && ioc->runs && now_ns < head.now_ns + ns(kPutPatience)) return false;
  trace.put_end_ns = end.value_or(0);
  trace.put_waits = !end;  // cut
  if (end) {
    trace.settled_ns = std::max(trace.settled_ns, *end + ns(kSettle));
    trace.until_ns = std::max(trace.until_ns, trace.settled_ns);
  }
  return true;
}

bool ChainReader::is_done(Waiting& trace, std::uint64_t now_ns) {
  if (!has_put_end(trace, now_ns)) return false;
  if (now_ns >= trace.until_ns) {
    name_put(trace, now_ns);
    return true;
  }
  return trace.open.empty() && trace.expected.empty() && now_ns >= trace.settled_ns &&
         name_put(trace, now_ns);
}

void ChainReader::name_link_put(Span& span, std::uint32_t generation, const iocx_trace_span& raw) {
  span.kind = SpanKind::link_put;
  span.name = directory_.link_name(generation, raw.record);
  if (span.name.empty()) span.name = "0x" + id_text(raw.record);
  if ((raw.flags & IOCX_TRACE_SPAN_NOT_SENT) != 0) span.skipped = "disconnected";
}

void ChainReader::name_inside_put(Span& span, const iocx_trace_span& raw) {
  iocx_trace_put put{};
  put.time = raw.start_ns;
  put.id = raw.record;
  put.slot = static_cast<std::uint32_t>(raw.child_ns);
  put.generation = static_cast<std::uint32_t>(raw.child_ns >> 32);
  put.sid = IOCX_INSIDE_SID;
  Cause cause;
  directory_.name_put(put, cause);
  span.kind = SpanKind::inside_put;
  span.name = cause.pv.empty() ? "0x" + id_text(raw.record) : std::move(cause.pv);
}

void ChainReader::forget(const Waiting& trace) {
  spans_ -= trace.spans;
  for (const Chain& chain : trace.chains) places_.erase(chain.head.id);
  for (const std::uint64_t chain : trace.expected) places_.erase(chain);
}

std::vector<Trace> ChainReader::finish(const WallClock::Reading& now, bool last) {
  const auto now_ns = static_cast<std::uint64_t>(now.monotonic_ns);
  std::vector<Trace> traces;
  for (auto one = waiting_.begin(); one != waiting_.end();) {
    Waiting& trace = one->second;
    const bool crowded = spans_ > kMostSpans;
    if (!last && !crowded && !is_done(trace, now_ns)) {
      ++one;
      continue;
    }
    if (crowded && !is_done(trace, now_ns)) ++counts_.crowded;
    if (auto made = make(trace, now)) {
      traces.push_back(std::move(*made));
    } else {
      ++counts_.unknown_ioc;
    }
    forget(trace);
    one = waiting_.erase(one);
  }
  // Where the last part had no room, the kernel has counted the chain.
  for (auto one = partial_.begin(); one != partial_.end();) {
    const Chain& chain = one->second;
    const bool late = now_ns > chain.head.now_ns + ns(kPartPatience);
    const bool gone = late || spans_ > kMostSpans;
    if (gone && !late) ++counts_.crowded;
    if (gone) spans_ -= chain.spans.size();
    one = gone ? partial_.erase(one) : std::next(one);
  }
  // Chains of most of them had no room; the others lose their clients.
  if (pva_puts_.size() > kMostSpans / 16) {
    ++counts_.crowded;
    pva_puts_.clear();
  }
  return traces;
}

std::optional<Trace> ChainReader::make(const Waiting& from, const WallClock::Reading& now) {
  const iocx_trace_chain& first = from.chains.front().head;
  const TraceDirectory::Ioc* const ioc = directory_.ioc(first.slot, first.generation);
  if (ioc == nullptr) return std::nullopt;
  const auto time = [&](std::uint64_t monotonic_ns) {
    return Time(
        Duration(now.realtime_ns - now.monotonic_ns + static_cast<std::int64_t>(monotonic_ns)));
  };
  const auto between = [](std::uint64_t start, std::uint64_t end) {
    return Duration(end > start ? static_cast<std::int64_t>(end - start) : 0);
  };
  Trace trace;
  trace.id = from.id;
  if (first.parent_id != 0) trace.parent = span_id(first.parent_id, first.parent_span);
  trace.ioc = ioc->name;
  trace.pid = ioc->pid;
  trace.thread = text_of(first.comm);
  trace.tid = static_cast<std::int32_t>(first.owner);
  trace.cause = from.put;
  trace.cause.kind = cause_name(first.cause);
  if (first.cause == IOCX_CAUSE_SCAN) trace.cause.scan = scan_text(trace.thread);
  for (const auto& [bit, text] : kWhy)
    if ((first.why & static_cast<std::uint32_t>(bit)) != 0) trace.why.emplace_back(text);
  trace.cut = !from.expected.empty();

  for (const Chain& chain : from.chains) {
    const iocx_trace_chain& head = chain.head;
    trace.cut |= head.lost > 0 || chain.incomplete;
    const bool elsewhere = head.owner != first.owner;
    for (const iocx_trace_span& raw : chain.spans) {
      Span& span = trace.spans.emplace_back();
      span.id = span_id(head.id, raw.number);
      if (raw.parent != 0)
        span.parent = span_id(head.id, raw.parent);
      else if (&chain != &from.chains.front())
        span.parent = span_id(head.parent_id, head.parent_span);
      if ((raw.flags & IOCX_TRACE_SPAN_LINK) != 0)
        name_link_put(span, head.generation, raw);
      else if ((raw.flags & IOCX_TRACE_SPAN_PUT) != 0)
        name_inside_put(span, raw);
      else
        name_record(span, ioc->database.get(), raw.record);
      span.start = time(raw.start_ns);
      span.duration = between(raw.start_ns, raw.end_ns);
      if (span.kind == SpanKind::process)
        span.self = span.duration - std::min(span.duration, between(0, raw.child_ns));
      if ((raw.flags & IOCX_TRACE_SPAN_ACTIVE) != 0) span.skipped = "active";
      if ((raw.flags & IOCX_TRACE_SPAN_DISABLED) != 0) span.skipped = "disabled";
      span.cut = (raw.flags & IOCX_TRACE_SPAN_CUT) != 0;
      if (raw.severity < IOCX_SEVERITIES) span.alarm = severity_name(raw.severity);
      if (!span.alarm.empty()) span.status = status_name(raw.status);
      if (elsewhere) span.thread = text_of(head.comm);
      if ((raw.flags & IOCX_TRACE_SPAN_ASYNCHRONOUS) != 0) {
        span.until_return = span.duration;
        const auto completion = from.completions.find({head.id, raw.number});
        span.cut = completion == from.completions.end();
        if (!span.cut) {
          span.duration = between(raw.start_ns, completion->second.time);
          span.thread = completion->second.owner != first.owner ? completion->second.thread : "";
        }
      }
      trace.cut |= span.cut;
    }
  }
  if (first.put.time != 0 || !trace.cause.pv.empty()) {
    const std::uint64_t start =
        first.put.time != 0 ? std::min(first.put.time, first.start_ns) : first.start_ns;
    Span put;
    put.kind = first.put.sid == IOCX_INSIDE_SID ? SpanKind::inside_put : SpanKind::put;
    put.id = span_id(first.id, 0);
    put.name = trace.cause.pv;
    put.start = time(start);
    put.duration = between(start, from.put_end_ns != 0 ? from.put_end_ns : first.now_ns);
    put.cut = from.put_waits;
    trace.cut |= put.cut;
    put.self = between(start, first.start_ns);
    for (Span& span : trace.spans)
      if (span.parent == 0) span.parent = put.id;
    trace.spans.insert(trace.spans.begin(), std::move(put));
  }
  trace.cut |= order_spans(trace.spans);
  lengthen_inside_puts(trace.spans);
  return trace;
}

}  // namespace ioc_exporter::traces
