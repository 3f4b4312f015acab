// Results: what becomes of puts that wait, as events of the same programs or of packets say.
#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "putlog/event.h"
#include "putlog/verdicts.h"
#include "puts/totals/put_totals.h"
#include "shared/putlog.h"

namespace ioc_exporter::putlog {

// A channel, by its slot and the id of that. Or a put and its result: of the server probe by the
// time and the slot of the put, of packets by the client's address and port, the IOC and the IOID.
struct EventKey {
  std::uint64_t id;
  std::uint32_t slot, ioid;
  std::uint8_t source;
  auto operator<=>(const EventKey&) const = default;
};

struct WaitingPut {
  // Of its channel.
  struct Known {
    puts::PutIdentity who;
    Rules rules = {};
  };
  iocx_putlog_event head;
  PutEvent event;
  std::shared_ptr<Known> known = {};
  puts::SourceChoice::Window by_packets = {};  // as it was when `known` became so
  bool asked = false;
  bool stray = false;                   // to no channel: nobody's
  bool unanswered = false;              // its result may come, later
  std::optional<EventKey> answer = {};  // with this key
  std::size_t bytes = 0;
  std::uint64_t lost_before = 0;  // numbers of lost events before it
};

// Packets of PV Access: values are not read, nor answers.
bool is_of_pva_packets(const iocx_putlog_event& head);

class Results {
 public:
  // `patience`: how long a put waits for its result, 0 = none does.
  explicit Results(std::chrono::nanoseconds patience) : patience_(patience) {}

  std::chrono::nanoseconds patience() const { return patience_; }
  // A put came, whose result the server probe may report. It stays where it is until leave().
  void expect(WaitingPut& put);
  // Packets may do so, once it is known which IOC's it is.
  void expect_by_packets(WaitingPut& put);
  // One of the events from IOCX_PUTLOG_ANSWER on. `after`: what the field has now.
  void take(const iocx_putlog_event& head, std::optional<Value> after);
  // Answers by packets, after puts of the same time have their IOCs.
  void match_answers();
  // The first put that waits under the key; null: none.
  WaitingPut* find(const EventKey& key) const;
  void leave(WaitingPut& put);

 private:
  void wait_for(WaitingPut& put, const EventKey& key);
  void settle(WaitingPut& put, std::string_view status);
  void end_write(const iocx_putlog_event& head, std::optional<Value> after = {});
  void answer(const EventKey& key, const iocx_putlog_event& head, std::string_view status,
              std::optional<Value> after = {});

  std::chrono::nanoseconds patience_;
  std::map<EventKey, std::deque<WaitingPut*>> unanswered_;  // as they came
  std::map<std::uint32_t, WaitingPut*> last_of_thread_;     // of the server's, by its id
  std::vector<iocx_putlog_event> answers_;                  // by packets
};

}  // namespace ioc_exporter::putlog
