#include "putlog/event_reader.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <tuple>
#include <utility>

#include "putlog/value.h"
#include "puts/pva/put_labels.h"
#include "puts/totals/put_families.h"

namespace ioc_exporter::putlog {
namespace {

using std::chrono::nanoseconds;

constexpr std::uint64_t kAskAgainNs = 100'000'000, kAskUnknownNs = 500'000'000;
// How long a server may take to become known.
constexpr std::uint64_t kServerPatienceNs = 60'000'000'000;

std::uint64_t count_of(nanoseconds time) {
  return static_cast<std::uint64_t>(time.count());
}

EventKey channel_of(const iocx_putlog_event& head) {
  return {head.id, head.slot, 0, head.source};
}

// Whether its source was the one that counts.
bool is_reported(const WaitingPut& put) {
  if (!put.known) return put.head.source != IOCX_PUTLOG_CA_TAP;
  return put.head.time >= put.by_packets.from_ns && put.head.time < put.by_packets.until_ns;
}

bool is_nameless(const WaitingPut& put) {
  return put.head.source != IOCX_PUTLOG_PVA &&
         (!put.known || (put.known->who.labels.pv.empty() && !put.known->who.settled));
}

// A put to one PV has one field, which its name stands for.
void show_fields(PutEvent& event, bool is_group) {
  if (is_group)
    for (PutField& one : event.fields)
      read_long_strings(one.field, {&one.value, &one.sent, &one.old});
  if (is_group || event.fields.empty()) return;
  PutField& field = event.fields.back();
  for (const std::string& name : {event.pv, field.field})
    read_long_strings(name, {&field.value, &field.sent, &field.old});
  event.value = std::move(field.value);
  event.sent = std::move(field.sent);
  event.old = std::move(field.old);
  event.kind = field.kind;
  event.type = std::move(field.type);
  event.count = field.count;
  event.value_unknown = event.value ? "" : "unreadable";
  event.fields.clear();
}

}  // namespace

bool EventReader::take(std::span<const std::byte> raw) {
  iocx_putlog_event head;
  if (raw.size() < sizeof head) return false;
  std::memcpy(&head, raw.data(), sizeof head);
  const auto bytes = raw.subspan(sizeof head);
  if (head.source >= IOCX_PUTLOG_SOURCES || head.room > bytes.size() ||
      head.value_bytes > bytes.size())
    return false;
  note_lost(head.source, head.lost);
  if (head.op == IOCX_PUTLOG_VALUE) return take_field(head, bytes);
  if (head.op >= IOCX_PUTLOG_ANSWER) {
    results_.take(head, old_value(head, bytes.subspan(head.room)));
    return true;
  }
  WaitingPut put{head, {}};
  PutEvent& event = put.event;
  const bool by_pva = head.source == IOCX_PUTLOG_PVA;
  event.op = puts::op_name(head.op == 0 ? PutOp::write : PutOp::write_notify,
                           by_pva || is_of_pva_packets(head));
  event.inside = (head.flags & IOCX_PUTLOG_INSIDE) != 0;
  if (by_pva) {
    iocx_pva_key key;
    if (head.value_bytes != sizeof key) return false;
    std::memcpy(&key, bytes.data(), sizeof key);
    puts::PutLabels labels = puts::labels_of(0, key);
    event.pv = std::move(labels.pv);
    event.user = std::move(labels.user);
    event.client_host = std::move(labels.host);
    event.client = std::move(labels.client);
  }
  if (by_pva || is_of_pva_packets(head))
    event.value_unknown = "pv_access";
  else
    read_values(event, head, bytes);
  put.lost_before = std::exchange(lost_before_, 0);
  put.bytes = delivery::footprint(event);
  waiting_bytes_ += put.bytes;
  waiting_.push_back(std::move(put));
  results_.expect(waiting_.back());
  return true;
}

// A put by PV Access that waits writes a field.
bool EventReader::take_field(const iocx_putlog_event& head, std::span<const std::byte> bytes) {
  auto field = written_field(head, bytes);
  if (!field) return false;
  if (WaitingPut* const put = results_.find(channel_of(head))) {
    const std::size_t more = delivery::footprint(*field);
    put->bytes += more;
    waiting_bytes_ += more;
    put->event.fields.push_back(std::move(*field));
  } else if (results_.patience().count() != 0) {  // it was reported already
    ++late_values_;
  }
  return true;
}

// Two processors may have the number in the other order than their events stand.
void EventReader::note_lost(std::uint8_t source, std::uint64_t lost) {
  if (lost <= lost_[source]) return;
  lost_before_ += lost - lost_[source];
  lost_[source] = lost;
}

void EventReader::note_losses(const Losses& lost) {
  for (std::uint8_t source = 0; source < IOCX_PUTLOG_SOURCES; ++source)
    note_lost(source, lost[source]);
}

void EventReader::set_policy(std::shared_ptr<const policy::Policy> policy, puts::PutsOfSlots before,
                             std::uint64_t now_ns) {
  verdicts_.set_policy(std::move(policy), std::move(before), now_ns);
  for (auto* const all : {&known_, &known_before_})
    for (auto& [channel, known] : *all) known->rules = {};
  for (WaitingPut& put : waiting_)
    if (put.known) put.known->rules = {};
}

// Each is asked for once with those that came with it.
void EventReader::look_up(std::uint64_t now_ns) {
  if (now_ns - known_since_ns_ >= count_of(kKnownFor) || known_.size() >= kMostKnown) {
    known_before_ = std::exchange(known_, {});
    known_since_ns_ = now_ns;
  }
  std::vector<WaitingPut*> fresh, unknown;
  for (WaitingPut& put : waiting_) {
    if (std::exchange(put.asked, true)) continue;
    fresh.push_back(&put);
    const EventKey channel = channel_of(put.head);
    if (auto before = known_before_.extract(channel)) known_.insert(std::move(before));
    if (const auto found = known_.find(channel); found != known_.end())
      put.known = found->second;
    else
      unknown.push_back(&put);
  }
  ask(unknown, false);
  for (WaitingPut* const put : fresh) results_.expect_by_packets(*put);
  results_.match_answers();
}

void EventReader::ask(const std::vector<WaitingPut*>& those, bool again) {
  if (those.empty()) return;
  std::vector<iocx_putlog_event> heads;
  // Those without a slot: by their client and its channel.
  const auto asked_as = [](const iocx_putlog_event& head) {
    std::array<std::uint8_t, sizeof head.address> address{};
    if (head.id != 0) return std::tuple(channel_of(head), 0u, 0u, 0u, address);
    std::ranges::copy(head.address, address.begin());
    return std::tuple(channel_of(head), unsigned{head.generation}, unsigned{head.sid},
                      unsigned{head.port}, address);
  };
  std::map<decltype(asked_as({})), std::size_t> asked;
  std::vector<std::size_t> answer_of;
  for (const WaitingPut* const put : those) {
    const auto [found, is_new] = asked.try_emplace(asked_as(put->head), heads.size());
    if (is_new) heads.push_back(put->head);
    answer_of.push_back(found->second);
  }
  const auto answers = directory_(heads, again);
  std::vector<std::shared_ptr<Known>> made(answers.size());
  for (std::size_t i = 0; i < those.size(); ++i) {
    WaitingPut& put = *those[i];
    const auto& answer = answers[answer_of[i]];
    auto& known = made[answer_of[i]];
    if (!answer) continue;
    if (!known) known = std::make_shared<Known>(Known{*answer});
    if (!put.known) put.by_packets = answer->by_packets;
    put.known = known;
    // Labels of puts by packets may still change.
    const bool lasts = put.head.id != 0 && put.head.source != IOCX_PUTLOG_CA_TAP;
    if (lasts && (answer->settled || !answer->labels.pv.empty()) &&
        (answer->labels.inside || !answer->server.empty()))
      known_[channel_of(put.head)] = known;
  }
}

std::vector<PutEvent> EventReader::finish(const WallClock::Reading& now, bool last) {
  const auto now_ns = static_cast<std::uint64_t>(now.monotonic_ns);
  look_up(now_ns);
  if (now_ns - asked_ns_ >= kAskAgainNs || last) {
    std::vector<WaitingPut*> nameless;
    for (WaitingPut& put : waiting_)
      if (is_nameless(put)) nameless.push_back(&put);
    if (!nameless.empty()) asked_ns_ = now_ns;
    ask(nameless, true);
  }
  std::vector<PutEvent> done;
  report_unknown_servers(now, done);
  while (!waiting_.empty() && (last || !waits(waiting_.front(), now_ns))) {
    WaitingPut& put = waiting_.front();
    results_.leave(put);
    waiting_bytes_ -= put.bytes;
    seq_ += put.lost_before;
    if (is_reported(put))
      done.push_back(complete(put, now));
    else if (!put.known)
      set_aside(std::move(put));
    waiting_.pop_front();
  }
  return done;
}

// A put by packets to a server that is not known.
void EventReader::set_aside(WaitingPut put) {
  const EventKey key = channel_of(put.head);
  if (unknown_servers_.size() >= kMostUnknownServers && !unknown_servers_.contains(key)) return;
  UnknownServer& server = unknown_servers_.try_emplace(key, UnknownServer{put.head}).first->second;
  if (unknown_bytes_ + put.bytes > kMostUnknownBytes) {
    ++server.more;
    return;
  }
  unknown_bytes_ += put.bytes;
  server.puts.push_back(std::move(put));
}

// Puts whose server is known by now, in the order of their times. Those of other servers are not
// ours.
void EventReader::report_unknown_servers(const WallClock::Reading& now,
                                         std::vector<PutEvent>& done) {
  const auto now_ns = static_cast<std::uint64_t>(now.monotonic_ns);
  if (unknown_servers_.empty() || now_ns - asked_unknown_ns_ < kAskUnknownNs) return;
  asked_unknown_ns_ = now_ns;
  std::vector<iocx_putlog_event> heads;
  for (const auto& [key, server] : unknown_servers_) heads.push_back(server.first);
  const auto answers = directory_(heads, false);
  std::vector<WaitingPut> late;
  auto answer = answers.begin();
  for (auto server = unknown_servers_.begin(); server != unknown_servers_.end();) {
    auto& [first, puts, more] = server->second;
    const auto& who = *answer++;
    if (!who && now_ns < first.time + kServerPatienceNs) {
      ++server;
      continue;
    }
    const auto known = who ? std::make_shared<Known>(Known{*who}) : nullptr;
    for (WaitingPut& put : puts) {
      unknown_bytes_ -= put.bytes;
      put.known = known;
      if (known) put.by_packets = who->by_packets;
      if (known && is_reported(put)) late.push_back(std::move(put));
    }
    seq_ += known ? more : 0;
    lost_of_unknown_servers_ += known ? more : 0;
    server = unknown_servers_.erase(server);
  }
  std::ranges::stable_sort(late, {}, [](const WaitingPut& put) { return put.head.time; });
  for (WaitingPut& put : late) done.push_back(complete(put, now));
}

// Many or large puts of one client, while one waits, take no more memory, nor the kernel's room for
// puts of others.
bool EventReader::waits(const WaitingPut& put, std::uint64_t now_ns) const {
  const auto is_younger = [&](nanoseconds age) { return now_ns < put.head.time + count_of(age); };
  const auto is_crowded = [this](std::size_t parts) {
    return waiting_.size() >= kMostWaiting / parts || waiting_bytes_ >= kMostWaitingBytes / parts;
  };
  const bool settles = put.known && put.head.source == IOCX_PUTLOG_CA_SERVER;
  return (is_nameless(put) && is_younger(settles ? kSettlePatience : kNamePatience) &&
          !is_crowded(1)) ||
         (put.unanswered && is_younger(results_.patience()) && !is_crowded(2));
}

PutEvent EventReader::complete(WaitingPut& put, const WallClock::Reading& now) {
  PutEvent& event = put.event;
  event.seq = ++seq_;
  event.kernel_ns = put.head.time;
  const auto when = now.realtime_ns + static_cast<std::int64_t>(put.head.time) - now.monotonic_ns;
  event.time = std::chrono::sys_time<nanoseconds>(nanoseconds(when));
  if (!put.known) put.known = std::make_shared<Known>();
  const puts::PutIdentity& who = put.known->who;
  Rules of_nobody, &rules = put.stray ? of_nobody : put.known->rules;
  std::string_view address;
  event.ioc = who.ioc;
  if (put.head.source == IOCX_PUTLOG_PVA) {
    address = event.client;
    show_fields(event, (put.head.flags & IOCX_PUTLOG_GROUP) != 0);
  } else {
    event.server = who.server;
    event.client = who.labels.client;
    if (!who.labels.inside && who.place.port != 0)
      event.client += ":" + std::to_string(who.place.port);
    if (!put.stray) {  // else nobody's, as the metrics count it
      address = who.labels.client;
      event.user = who.labels.user;
      event.client_host = who.labels.host;
      event.channel_of = who.channel_of;
      event.pv = who.labels.pv;
    }
    read_long_strings(event.pv, {&event.value, &event.sent, &event.old, &event.after});
  }
  const bool notifies = (put.head.op & 1) != 0 && !is_of_pva_packets(put.head);
  // The policy is about puts; a WRITE_NOTIFY processes the record.
  if (!is_acknowledgement(put.head) || put.head.op != IOCX_PUTLOG_WRITE)
    verdicts_.judge(event, address, notifies ? PutOp::write_notify : PutOp::write, put.head, rules);
  return std::move(event);
}

}  // namespace ioc_exporter::putlog
