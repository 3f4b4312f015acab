// One put as the put log reports it: client, PV, value before and value written.
//
// Unknown values are absent (an empty text, no value).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "delivery/pack.h"

namespace ioc_exporter::putlog {

// An element as a client gives it: DBR_CHAR, SHORT, LONG and ENUM as numbers
// (an enum's old value as its state's string where the record has one), FLOAT and DOUBLE, STRING;
// unsigned only if it is greater than INT64_MAX.
using Element = std::variant<std::int64_t, double, std::string, std::uint64_t>;

// DBF types, by their place among those of Base 7: before, there was no INT64 and UINT64.
enum class Dbf : std::uint8_t {
  string,
  character,
  uchar,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  uint64,
  float32,
  float64,
  choice,
  other
};

struct Value {
  std::vector<Element> elements;  // the first ones, where the value was longer than the bound
  bool is_array = false;          // one element may be an array of one
  std::uint64_t size = 0;         // elements in all, where that is not how many are here
  std::uint64_t whole_size() const { return size != 0 ? size : elements.size(); }
  bool operator==(const Value&) const = default;
};

// A field that a put to a group by PV Access writes.
struct PutField {
  std::string field;  // name of its record, with the field's
  std::string type;   // as PutEvent has these
  std::uint64_t count = 0;
  std::optional<Value> value, old, sent = {};
  Dbf kind = Dbf::other;
  bool operator==(const PutField&) const = default;
};

struct PutEvent {
  // Wall clock of the put, from the kernel's monotonic clock.
  std::chrono::sys_time<std::chrono::nanoseconds> time{};
  std::uint64_t kernel_ns = 0;  // the same by that clock; of no use to others than this exporter
  std::uint64_t seq = 0;        // of this exporter, from 1 on: a hole is a loss
  std::string ioc;
  std::string server;  // address:port that the client is connected to
  // Address:port of the client; `inside`: the record whose CA link writes, or the thread.
  std::string client;
  std::string user, client_host;
  std::string channel_of;   // "user@address:port" of the channel's client, where that is another
  std::string pv;           // as the client asked for it
  std::string op;           // write, write_notify; of PV Access: put, rpc
  std::string type;         // DBR_DOUBLE and so on, as the client sent it
  std::uint64_t count = 0;  // elements that were sent, also where fewer are kept
  // In the field's type where that is known; what was sent for `value`, where it is another; what
  // the field held before, and when the put had ended.
  std::optional<Value> value, sent, old, after;
  Dbf kind = Dbf::other;          // of the elements of `value`
  std::vector<PutField> fields;   // of a group: instead of a value
  std::string value_unknown;      // why there is no value, or not all fields
  bool inside = false;            // by a client in the IOC itself; `client` says which
  bool overread = false;          // the server took some of the value from beyond the message
  std::string process;            // of PV Access: "true", "false", where the client asked for that
  bool block = false;             // of PV Access: the client waits until the record has processed
  std::string status;             // ok, or the reason as epics_put_failures_total has it
  std::optional<double> seconds;  // of put-callbacks and PV Access: from the request to the answer
  std::string rule, action;       // verdict of the site's policy

  // It is forbidden, unexpected or unjudged.
  bool is_bad() const { return !action.empty() && action != "allowed" && action != "expected"; }
  bool operator==(const PutEvent&) const = default;
};

// For delivery/pack.h: all members, or it does not compile.
auto parts_of(delivery::Is<Value> auto& value) {
  auto& [elements, is_array, size] = value;
  return std::tie(elements, is_array, size);
}
auto parts_of(delivery::Is<PutField> auto& one) {
  auto& [field, type, count, value, old, sent, kind] = one;
  return std::tie(field, type, count, value, old, sent, kind);
}
auto parts_of(delivery::Is<PutEvent> auto& event) {
  auto& [time, kernel_ns, seq, ioc, server, client, user, client_host, channel_of, pv, op, type,
         count, value, sent, old, after, kind, fields, value_unknown, inside, overread, process,
         block, status, seconds, rule, action] = event;
  return std::tie(time, kernel_ns, seq, ioc, server, client, user, client_host, channel_of, pv, op,
                  type, count, value, sent, old, after, kind, fields, value_unknown, inside,
                  overread, process, block, status, seconds, rule, action);
}

}  // namespace ioc_exporter::putlog
