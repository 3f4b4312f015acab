#include "putlog/event_reader.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "putlog/value.h"
#include "puts/pva/put_labels.h"
#include "puts/status.h"
#include "puts/tap/server.h"
#include "puts/totals/put_families.h"
#include "shared/ca_tap.h"

namespace ioc_exporter::putlog {
namespace {

using std::chrono::nanoseconds;

constexpr std::uint64_t kAskAgainNs = 100'000'000, kAskUnknownNs = 500'000'000;
// How long a server may take to become known.
constexpr std::uint64_t kServerPatienceNs = 60'000'000'000;
constexpr std::size_t kMostFormer = 4;  // policies

// Packets of PV Access: values are not read, nor answers.
bool is_of_pva_packets(const iocx_putlog_event& head) {
  return head.source == IOCX_PUTLOG_CA_TAP &&
         puts::server_of_number(head.generation).protocol == puts::Protocol::pva;
}

std::string_view name_of_op(const iocx_putlog_event& head) {
  const bool by_pva = head.source == IOCX_PUTLOG_PVA || is_of_pva_packets(head);
  return puts::op_name(head.op == 0 ? PutOp::write : PutOp::write_notify, by_pva);
}

// Of the policy's verdict.
int badness(const PutEvent& event) {
  return event.action == "forbidden" ? 2 : event.is_bad() ? 1 : 0;
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
  if (head.op == IOCX_PUTLOG_ANSWER) {
    answers_.push_back(head);
    return true;
  }
  if (head.op == IOCX_PUTLOG_VALUE) return take_field(head, bytes);
  if (head.op > IOCX_PUTLOG_ANSWER) {
    take_result(head, old_value(head, bytes.subspan(head.room)));
    return true;
  }
  Waiting put{head, {}};
  PutEvent& event = put.event;
  event.op = name_of_op(head);
  event.inside = (head.flags & IOCX_PUTLOG_INSIDE) != 0;
  if (head.source == IOCX_PUTLOG_PVA) {
    iocx_pva_key key;
    if (head.value_bytes != sizeof key) return false;
    std::memcpy(&key, bytes.data(), sizeof key);
    const puts::PutLabels labels = puts::labels_of(0, key);
    event.pv = labels.pv;
    event.user = labels.user;
    event.client_host = labels.host;
    event.client = labels.client;
    event.value_unknown = "pv_access";
  } else if (is_of_pva_packets(head)) {
    event.value_unknown = "pv_access";
  } else {
    read_values(event, head, bytes);
  }
  put.lost_before = std::exchange(lost_before_, 0);
  put.bytes = delivery::footprint(event);
  waiting_bytes_ += put.bytes;
  waiting_.push_back(std::move(put));
  wait_for_result(waiting_.back());
  return true;
}

EventReader::Key EventReader::key_of(const iocx_putlog_event& head) {
  Key key{head.id, head.slot, head.source};
  if (head.id != 0) return key;
  key.generation = head.generation;
  key.sid = head.sid;
  key.port = head.port;
  std::memcpy(&key.address, head.address, sizeof key.address);
  return key;
}

EventReader::AnswerKey EventReader::answer_key_of(const iocx_putlog_event& head,
                                                  std::uint32_t ioc) {
  std::uint32_t address;
  std::memcpy(&address, head.address, sizeof address);
  return {std::uint64_t{address} << 16 | head.port, ioc, head.ioid, IOCX_PUTLOG_CA_TAP};
}

void EventReader::wait_for(Waiting& put, const AnswerKey& key) {
  put.unanswered = true;
  put.answer = key;
  unanswered_[key].push_back(&put);
}

// The server probe tells what becomes of it. A thread does one put after the other: the one before
// has ended, and was not refused.
void EventReader::wait_for_result(Waiting& put) {
  if ((put.head.flags & IOCX_PUTLOG_HAS_RESULT) == 0 || answer_patience_.count() == 0) return;
  if (put.head.source == IOCX_PUTLOG_PVA)
    return wait_for(put, {put.head.time, put.head.slot, 0, IOCX_PUTLOG_PVA});
  end_write(put.head);
  put.unanswered = true;
  last_of_thread_[put.head.tid] = &put;
  if (put.head.op == IOCX_PUTLOG_WRITE_NOTIFY)
    wait_for(put, {put.head.time, put.head.slot, 0, IOCX_PUTLOG_CA_SERVER});
}

// Packets do, once the server is known.
void EventReader::wait_for_packets(Waiting& put) {
  const auto& head = put.head;
  const bool by_packets = head.source == IOCX_PUTLOG_CA_TAP;
  if (head.op != IOCX_PUTLOG_WRITE_NOTIFY || is_of_pva_packets(head) ||
      (head.flags & IOCX_PUTLOG_HAS_RESULT) != 0 || answer_patience_.count() == 0 ||
      (!put.known && !by_packets))
    return;
  wait_for(put, answer_key_of(head, put.known ? put.known->who.ioc_number : put.head.generation));
}

void EventReader::settle(Waiting& put, std::string_view status) {
  put.event.status = status;
  leave_answer(put);
}

void EventReader::leave_answer(Waiting& put) {
  if (!std::exchange(put.unanswered, false)) return;
  if (const auto last = last_of_thread_.find(put.head.tid);
      last != last_of_thread_.end() && last->second == &put)
    last_of_thread_.erase(last);
  if (!put.answer) return;
  const auto found = unanswered_.find(*put.answer);
  std::erase(found->second, &put);
  if (found->second.empty()) unanswered_.erase(found);
}

// The last WRITE of the event's thread, if it was not refused.
void EventReader::end_write(const iocx_putlog_event& head, std::optional<Value> after) {
  const auto last = last_of_thread_.find(head.tid);
  if (last == last_of_thread_.end() || last->second->head.op != IOCX_PUTLOG_WRITE) return;
  if (!is_acknowledgement(last->second->head)) last->second->event.after = std::move(after);
  settle(*last->second, (head.flags & IOCX_PUTLOG_RESULT_LOST) == 0 ? "ok" : "");
}

void EventReader::take_result(const iocx_putlog_event& head, std::optional<Value> after) {
  const auto status = [&head] {
    return head.count < IOCX_FAILURES
               ? puts::ca_status_reason(puts::kPutFailureStatuses[head.count])
               : "ok";
  };
  if (head.op == IOCX_PUTLOG_ENDED) return end_write(head, std::move(after));
  if (head.op == IOCX_PUTLOG_DONE) {
    const AnswerKey key{head.id, head.slot, 0, head.source};
    if (const auto put = unanswered_.find(key);
        head.source == IOCX_PUTLOG_PVA && put != unanswered_.end())
      end_pva(*put->second.front(), head.type);
    answer(key, head, status(), std::move(after));
  } else if (const auto last = last_of_thread_.find(head.tid); last != last_of_thread_.end()) {
    last->second->stray = (head.flags & IOCX_PUTLOG_STRAY) != 0;
    settle(*last->second, status());
  }
}

// Answers come in the order of what they answer. One to a put that was told already finds none, or
// a later one with the same number.
void EventReader::answer(const AnswerKey& key, const iocx_putlog_event& head,
                         std::string_view status, std::optional<Value> after) {
  const auto found = unanswered_.find(key);
  if (found == unanswered_.end() || found->second.front()->head.time > head.time) return;
  Waiting& put = *found->second.front();
  const auto asked = head.id != 0 ? head.id : put.head.time;
  put.event.seconds = static_cast<double>(head.time - std::min(head.time, asked)) / 1e9;
  if (!is_acknowledgement(put.head)) put.event.after = std::move(after);
  settle(put, status);
}

// Two processors may tell the number in the other order than their events stand.
void EventReader::note_lost(std::uint8_t source, std::uint64_t lost) {
  if (lost <= lost_[source]) return;
  lost_before_ += lost - lost_[source];
  lost_[source] = lost;
}

void EventReader::note_losses(const Losses& lost) {
  for (std::uint8_t source = 0; source < IOCX_PUTLOG_SOURCES; ++source)
    note_lost(source, lost[source]);
}

std::uint64_t EventReader::lost() const {
  return std::accumulate(lost_.begin(), lost_.end(), std::uint64_t{0});
}

void EventReader::set_policy(std::shared_ptr<const policy::Policy> policy, puts::PutsOfSlots before,
                             std::uint64_t now_ns) {
  former_.push_back({std::exchange(policy_, std::move(policy)), std::move(before), now_ns});
  if (former_.size() > kMostFormer) former_.pop_front();
  for (auto* all : {&known_, &known_before_})
    for (auto& [key, known] : *all) known->rules = {};
  for (Waiting& put : waiting_)
    if (put.known) put.known->rules = {};
}

// Each is asked for once with those that came with it.
void EventReader::look_up() {
  std::vector<Waiting*> fresh, unknown;
  for (Waiting& put : waiting_) {
    if (put.asked) continue;
    put.asked = true;
    fresh.push_back(&put);
    if (put.head.id != 0) put.known = known(key_of(put.head));
    if (!put.known) unknown.push_back(&put);
  }
  ask(unknown, false);
  for (Waiting* const put : fresh) wait_for_packets(*put);
  for (const auto& head : std::exchange(answers_, {}))
    answer(answer_key_of(head, head.generation), head,
           head.count == IOCX_CA_NORMAL ? "ok" : puts::ca_status_reason(head.count));
}

std::shared_ptr<EventReader::Known> EventReader::known(const Key& key) {
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  auto before = known_before_.extract(key);
  return before ? known_.insert(std::move(before)).position->second : nullptr;
}

void EventReader::ask(const std::vector<Waiting*>& those, bool again) {
  if (those.empty()) return;
  std::vector<iocx_putlog_event> heads;
  std::unordered_map<Key, std::size_t, KeyHash> asked;
  std::vector<std::size_t> answer_of;
  for (const Waiting* put : those) {
    const auto [found, is_new] = asked.try_emplace(key_of(put->head), heads.size());
    if (is_new) heads.push_back(put->head);
    answer_of.push_back(found->second);
  }
  auto answers = directory_.find(heads, again);
  std::vector<std::shared_ptr<Known>> made(answers.size());
  if (known_.size() + answers.size() > kMostKnown) known_.clear();
  for (std::size_t i = 0; i < those.size(); ++i) {
    auto& answer = answers[answer_of[i]];
    auto& known = made[answer_of[i]];
    if (!answer) continue;
    if (!known) known = std::make_shared<Known>(Known{*answer});
    if (!those[i]->known) those[i]->by_packets = answer->by_packets;
    those[i]->known = known;
    // Labels of puts by packets may still change.
    const bool lasts = those[i]->head.id != 0 && those[i]->head.source != IOCX_PUTLOG_CA_TAP;
    if (lasts && (known->who.settled || !known->who.pv.empty()) &&
        (known->who.inside || !known->who.server.empty()))
      known_[key_of(those[i]->head)] = known;
  }
}

std::vector<PutEvent> EventReader::finish(const WallClock::Reading& now, bool last) {
  look_up();
  const auto now_ns = static_cast<std::uint64_t>(now.monotonic_ns);
  if (now_ns - known_since_ns_ >= static_cast<std::uint64_t>(nanoseconds(kKnownFor).count())) {
    known_before_ = std::exchange(known_, {});
    known_since_ns_ = now_ns;
  }
  if (now_ns - asked_ns_ >= kAskAgainNs || last) {
    std::vector<Waiting*> nameless;
    for (Waiting& put : waiting_)
      if (is_nameless(put)) nameless.push_back(&put);
    if (!nameless.empty()) asked_ns_ = now_ns;
    ask(nameless, true);
  }
  std::vector<PutEvent> done;
  report_unknown_servers(now, done);
  while (!waiting_.empty() && (last || !waits(waiting_.front(), now_ns))) {
    Waiting& put = waiting_.front();
    leave_answer(put);
    waiting_bytes_ -= put.bytes;
    seq_ += put.lost_before;
    if (is_to_tell(put)) {
      complete(put, now);
      done.push_back(std::move(put.event));
    } else if (!put.known) {
      set_aside(std::move(put));
    }
    waiting_.pop_front();
  }
  return done;
}

// A put by packets to a server that is not known.
void EventReader::set_aside(Waiting put) {
  const Key key = key_of(put.head);
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
  const auto answers = directory_.find(heads, false);
  std::vector<Waiting> late;
  auto answer = answers.begin();
  for (auto server = unknown_servers_.begin(); server != unknown_servers_.end();) {
    auto& [first, puts, more] = server->second;
    const auto& who = *answer++;
    if (!who && now_ns < first.time + kServerPatienceNs) {
      ++server;
      continue;
    }
    const auto known = who ? std::make_shared<Known>(Known{*who}) : nullptr;
    for (Waiting& put : puts) {
      unknown_bytes_ -= put.bytes;
      put.known = known;
      if (known) put.by_packets = who->by_packets;
      if (known && is_to_tell(put)) late.push_back(std::move(put));
    }
    seq_ += known ? more : 0;
    lost_of_unknown_servers_ += known ? more : 0;
    server = unknown_servers_.erase(server);
  }
  std::ranges::stable_sort(late, {}, [](const Waiting& put) { return put.head.time; });
  for (Waiting& put : late) {
    complete(put, now);
    done.push_back(std::move(put.event));
  }
}

bool EventReader::is_to_tell(const Waiting& put) {
  if (!put.known) return put.head.source != IOCX_PUTLOG_CA_TAP;
  return put.head.time >= put.by_packets.from_ns && put.head.time < put.by_packets.until_ns;
}

bool EventReader::is_nameless(const Waiting& put) {
  return put.head.source != IOCX_PUTLOG_PVA &&
         (!put.known || (put.known->who.pv.empty() && !put.known->who.settled));
}

// Many or large puts of one client, while one waits, take no more memory, nor the kernel's room for
// puts of others.
bool EventReader::is_crowded(std::size_t parts) const {
  return waiting_.size() >= kMostWaiting / parts || waiting_bytes_ >= kMostWaitingBytes / parts;
}

bool EventReader::waits(const Waiting& put, std::uint64_t now_ns) const {
  const auto is_younger = [&](nanoseconds age) {
    return now_ns < put.head.time + static_cast<std::uint64_t>(age.count());
  };
  const bool settles = put.known && put.head.source == IOCX_PUTLOG_CA_SERVER && put.head.id != 0;
  return (is_nameless(put) && is_younger(settles ? kSettlePatience : kNamePatience) &&
          !is_crowded(1)) ||
         (put.unanswered && is_younger(answer_patience_) && !is_crowded(2));
}

void EventReader::complete(Waiting& put, const WallClock::Reading& now) {
  PutEvent& event = put.event;
  event.seq = ++seq_;
  event.kernel_ns = put.head.time;
  const auto when = now.realtime_ns + static_cast<std::int64_t>(put.head.time) - now.monotonic_ns;
  event.time = std::chrono::sys_time<nanoseconds>(nanoseconds(when));
  if (!put.known) put.known = std::make_shared<Known>();
  if (put.stray) {  // as the metrics count it
    const auto known = std::exchange(put.known, std::make_shared<Known>());
    put.known->who.ioc = known->who.ioc;
    put.known->who.server = known->who.server;
    put.known->who.client = known->who.client;
  }
  const PutWho& who = put.known->who;
  event.ioc = who.ioc;
  if (put.head.source == IOCX_PUTLOG_PVA) {
    put.known = std::make_shared<Known>();
    put.known->who.address = event.client;
    put.known->who.user = event.user;
    put.known->who.host = event.client_host;
    put.known->who.pv = event.pv;
    show_fields(event, (put.head.flags & IOCX_PUTLOG_GROUP) != 0);
  } else {
    event.server = who.server;
    event.client = who.client;
    event.user = who.user;
    event.client_host = who.host;
    event.channel_of = who.channel_of;
    event.pv = who.pv;
    read_long_strings(event.pv, {&event.value, &event.sent, &event.old, &event.after});
  }
  if (is_acknowledgement(put.head) && put.head.op == IOCX_PUTLOG_WRITE)
    return;  // the policy is about puts; a WRITE_NOTIFY processes the record
  judge(*put.known, event, put.head);
  judge_members(put.known->who, event, put.head);
}

// The first that was there until the put came; null: the one of now.
const EventReader::Former* EventReader::former_policy(const iocx_putlog_event& head) const {
  const auto came_before = [&head](const Former& former) {
    if (head.source != IOCX_PUTLOG_CA_SERVER || head.id == 0) return head.time < former.until_ns;
    const auto counted = former.puts.find(head.id);
    return counted != former.puts.end() && head.number <= counted->second[head.op & 1];
  };
  const auto found = std::ranges::find_if(former_, came_before);
  return found == former_.end() ? nullptr : &*found;
}

void EventReader::judge(Known& known, PutEvent& event, const iocx_putlog_event& head) {
  const PutWho& who = known.who;
  const bool notifies = (head.op & 1) != 0 && !is_of_pva_packets(head);
  const PutOp op = notifies ? PutOp::write_notify : PutOp::write;
  const policy::Put put{who.pv, who.user, who.host, who.address, op, event.inside};
  if (const Former* const former = former_policy(head)) {
    if (!former->policy) return;
    const std::uint32_t rule = former->policy->decide(put);
    event.rule = former->policy->name(rule);
    event.action = policy::verdict_of(former->policy->action(rule));
    return;
  }
  if (!policy_) return;
  auto& rule = known.rules[head.op & 1];
  if (!rule) rule = policy_->decide(put);
  event.rule = policy_->name(*rule);
  event.action = policy::verdict_of(policy_->action(*rule));
}

// As if each member were written alone, a rule that does not allow that is the group's. Members
// that no rule names are as the group is.
void EventReader::judge_members(const PutWho& who, PutEvent& event, const iocx_putlog_event& head) {
  for (const PutField& field : event.fields) {
    if (field.field.empty()) continue;
    Known known{who};
    known.who.pv = field.field;
    PutEvent alone;
    alone.time = event.time;
    judge(known, alone, head);
    if (alone.rule == policy::kDefaultRule || badness(alone) <= badness(event)) continue;
    event.rule = std::move(alone.rule);
    event.action = std::move(alone.action);
  }
}

}  // namespace ioc_exporter::putlog
