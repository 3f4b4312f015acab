// The part of EventReader for PV Access: after a put come the fields that it writes, and its end.
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "putlog/event_reader.h"
#include "putlog/value.h"

namespace ioc_exporter::putlog {
// A put by PV Access that waits writes a field.
bool EventReader::take_field(const iocx_putlog_event& head, std::span<const std::byte> bytes) {
  auto field = written_field(head, bytes);
  if (!field) return false;
  const auto found = unanswered_.find({head.id, head.slot, 0, IOCX_PUTLOG_PVA});
  if (found == unanswered_.end()) {  // it was told already
    if (answer_patience_.count() != 0) ++late_values_;
    return true;
  }
  Waiting& put = *found->second.front();
  const std::size_t more = delivery::footprint(*field);
  put.bytes += more;
  waiting_bytes_ += more;
  put.event.fields.push_back(std::move(*field));
  return true;
}

// `options`: enum iocx_putlog_option.
void EventReader::end_pva(Waiting& put, std::uint16_t options) {
  put.event.block = (options & IOCX_PUTLOG_BLOCK) != 0;
  if ((options & IOCX_PUTLOG_PROCESS) != 0) put.event.process = "true";
  if ((options & IOCX_PUTLOG_NO_PROCESS) != 0) put.event.process = "false";
  if ((options & IOCX_PUTLOG_VALUES) != 0)
    put.event.value_unknown = put.event.fields.empty() ? "not_written" : "";
}

// A put to one PV has one field, which its name stands for.
void EventReader::show_fields(PutEvent& event, bool is_group) {
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

}  // namespace ioc_exporter::putlog
