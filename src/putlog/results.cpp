#include "putlog/results.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "putlog/value.h"
#include "puts/status.h"
#include "puts/tap/server.h"
#include "shared/ca_tap.h"
#include "shared/server_probe.h"

namespace ioc_exporter::putlog {
namespace {

EventKey key_by_packets(const iocx_putlog_event& head, std::uint32_t ioc) {
  std::uint32_t address;
  std::memcpy(&address, head.address, sizeof address);
  return {std::uint64_t{address} << 16 | head.port, ioc, head.ioid, IOCX_PUTLOG_CA_TAP};
}

std::string_view status_of(const iocx_putlog_event& head) {
  return head.count < IOCX_FAILURES ? puts::ca_status_reason(puts::kPutFailureStatuses[head.count])
                                    : "ok";
}

void add_options(PutEvent& event, std::uint16_t options) {
  event.block = (options & IOCX_PUTLOG_BLOCK) != 0;
  if ((options & IOCX_PUTLOG_PROCESS) != 0) event.process = "true";
  if ((options & IOCX_PUTLOG_NO_PROCESS) != 0) event.process = "false";
  if ((options & IOCX_PUTLOG_VALUES) != 0)
    event.value_unknown = event.fields.empty() ? "not_written" : "";
}

}  // namespace

bool is_of_pva_packets(const iocx_putlog_event& head) {
  return head.source == IOCX_PUTLOG_CA_TAP &&
         puts::server_of_number(head.generation).protocol == puts::Protocol::pva;
}

void Results::wait_for(WaitingPut& put, const EventKey& key) {
  put.unanswered = true;
  put.answer = key;
  unanswered_[key].push_back(&put);
}

// A thread does one put after the other: the one before has ended, and was not refused.
void Results::expect(WaitingPut& put) {
  const auto& head = put.head;
  if ((head.flags & IOCX_PUTLOG_HAS_RESULT) == 0 || patience_.count() == 0) return;
  if (head.source != IOCX_PUTLOG_PVA) {
    end_write(head);
    put.unanswered = true;
    last_of_thread_[head.tid] = &put;
    if (head.op != IOCX_PUTLOG_WRITE_NOTIFY) return;
  }
  wait_for(put, {head.time, head.slot, 0, head.source});
}

void Results::expect_by_packets(WaitingPut& put) {
  const auto& head = put.head;
  const bool by_packets = head.source == IOCX_PUTLOG_CA_TAP;
  if (head.op != IOCX_PUTLOG_WRITE_NOTIFY || is_of_pva_packets(head) ||
      (head.flags & IOCX_PUTLOG_HAS_RESULT) != 0 || patience_.count() == 0 ||
      (!put.known && !by_packets))
    return;
  wait_for(put, key_by_packets(head, put.known ? put.known->who.labels.ioc : head.generation));
}

WaitingPut* Results::find(const EventKey& key) const {
  const auto found = unanswered_.find(key);
  return found == unanswered_.end() ? nullptr : found->second.front();
}

void Results::settle(WaitingPut& put, std::string_view status) {
  put.event.status = status;
  leave(put);
}

void Results::leave(WaitingPut& put) {
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
void Results::end_write(const iocx_putlog_event& head, std::optional<Value> after) {
  const auto last = last_of_thread_.find(head.tid);
  if (last == last_of_thread_.end() || last->second->head.op != IOCX_PUTLOG_WRITE) return;
  if (!is_acknowledgement(last->second->head)) last->second->event.after = std::move(after);
  settle(*last->second, (head.flags & IOCX_PUTLOG_RESULT_LOST) == 0 ? "ok" : "");
}

void Results::take(const iocx_putlog_event& head, std::optional<Value> after) {
  const EventKey key{head.id, head.slot, 0, head.source};
  switch (head.op) {
    case IOCX_PUTLOG_ANSWER:
      return answers_.push_back(head);
    case IOCX_PUTLOG_ENDED:
      return end_write(head, std::move(after));
    case IOCX_PUTLOG_DONE:
      if (WaitingPut* const put = find(key); put != nullptr && head.source == IOCX_PUTLOG_PVA)
        add_options(put->event, head.type);
      return answer(key, head, status_of(head), std::move(after));
    default:  // REFUSED
      if (const auto last = last_of_thread_.find(head.tid); last != last_of_thread_.end()) {
        last->second->stray = (head.flags & IOCX_PUTLOG_STRAY) != 0;
        settle(*last->second, status_of(head));
      }
  }
}

void Results::match_answers() {
  for (const auto& head : std::exchange(answers_, {}))
    answer(key_by_packets(head, head.generation), head,
           head.count == IOCX_CA_NORMAL ? "ok" : puts::ca_status_reason(head.count));
}

// Answers come in the order of what they answer. One to a put that has gone on already finds none,
// or a later one with the same number.
void Results::answer(const EventKey& key, const iocx_putlog_event& head, std::string_view status,
                     std::optional<Value> after) {
  WaitingPut* const put = find(key);
  if (put == nullptr || put->head.time > head.time) return;
  const auto asked = head.id != 0 ? head.id : put->head.time;
  put->event.seconds = static_cast<double>(head.time - std::min(head.time, asked)) / 1e9;
  if (!is_acknowledgement(put->head)) put->event.after = std::move(after);
  settle(*put, status);
}

}  // namespace ioc_exporter::putlog
