// The part of ServerProbe that turns the kernel's slots into puts by label, and frees them.
#include <algorithm>
#include <ctime>
#include <utility>

#include "base/wall_clock.h"
#include "puts/inventory/channel_facts.h"
#include "puts/pva/put_labels.h"
#include "puts/server_probe/server_probe.h"
#include "puts/status.h"
#include "puts/tap/connections.h"
#include "puts/tap/tap_labels.h"

namespace ioc_exporter::puts {
namespace {

// Of Base 3.14, by what the program has read of the channel's dbAddr.
std::string name_of_record(const iocx_ca_server_info& info) {
  return channel_name(kernel_text(info.name), kernel_text(info.field),
                      is_long_string(info.description_type, info.field_type, info.dbr_field_type));
}

// Owners of results: a slot, by its index, or the puts of an IOC without slots, by its generation.
// None is a channel of the tap.
constexpr std::uint64_t kOfSlot = 1ull << 63, kOfRemainder = 1ull << 62;

std::uint64_t nanoseconds(std::chrono::nanoseconds time) {
  return static_cast<std::uint64_t>(time.count());
}

std::string client_text(const __u8 (&octets)[4]) {
  return address_text(ipv4_address(octets[0], octets[1], octets[2], octets[3]));
}

// "user@10.0.0.7:40000".
std::string owner_text(const iocx_ca_server_info& info) {
  return kernel_text(info.owner_user) + "@" + client_text(info.owner_address) + ":" +
         std::to_string(info.owner_port);
}

PutsByOp strays_of(const iocx_server_slot& slot) {
  return {__atomic_load_n(&slot.stray[0], __ATOMIC_ACQUIRE),
          __atomic_load_n(&slot.stray[1], __ATOMIC_ACQUIRE)};
}

// Its put was to no channel.
bool is_nowhere(const iocx_server_slot& slot) {
  return __atomic_load_n(&slot.searches, __ATOMIC_ACQUIRE) == IOCX_SERVER_NOWHERE;
}

// Not below `known`: a stray put is counted at first and taken back later, and the sum must not
// fall.
PutsByOp puts_of(const iocx_server_slot& slot, const PutsByOp& known) {
  const PutsByOp strays = strays_of(slot);  // read first: they are among `puts` by then
  PutsByOp puts{__atomic_load_n(&slot.puts[0], __ATOMIC_RELAXED),
                __atomic_load_n(&slot.puts[1], __ATOMIC_RELAXED)};
  for (std::size_t op = 0; op < puts.size(); ++op)
    puts[op] = std::max(puts[op] - strays[op], known[op]);
  return puts;
}

}  // namespace

Result<void> ServerProbe::collect(Clock::time_point now) {
  const std::uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
  std::uint64_t used = 0;
  // When as many were found as are held the others are free.
  for (used_end_ = 0; used_end_ < slots_.size() && used < object_.held(); ++used_end_) {
    const auto& state = object_.slots()[used_end_].state;
    if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) != IOCX_SLOT_FREE) ++used;
    if (auto ok = observe(used_end_, false, now); !ok) return ok;
  }
  for (std::uint32_t index = 0; index < used_end_; ++index) observe_result(index, now_ns);
  if (auto ok = look_at_open_callbacks(); !ok) return ok;
  if (used > 0)
    if (auto ok = object_.maps().durations.for_each(
            [this](std::uint32_t index, const iocx_server_durations& durations) {
              observe_durations(index, durations);
            });
        !ok)
      return ok;
  auto done = object_.maps().remainder.for_each(
      [this](std::uint32_t generation, const iocx_server_remainder& remainder) {
        Watched* const watched = of_generation(generation);
        if (watched != nullptr && watched->attach != 0) observe_remainder(*watched, remainder);
      });
  if (budget_ != nullptr) report_to_budget();
  return done;
}

// Nobody who writes is to choose whether his puts are seen: nothing goes for them.
void ServerProbe::report_to_budget() {
  for (const auto& [serial, watched] : watched_) {
    if (watched.attach == 0) continue;
    budget_->report(
        watched.id, is_ca() ? probes::Owner::ca_puts : probes::Owner::pva_puts,
        static_cast<double>(totals_->by_server[key_of(watched.number)]) * watched.seconds_each);
    if (const auto load = budget_->take_warning_of_puts(watched.id))
      log::warn(
          "ioc {}: to count its puts costs {:.1f} % of a core, more than --overhead.budget, which "
          "is for all but puts: they are counted on",
          watched.name, *load * 100);
  }
}

// As the sums know it; null: not there, or forgotten.
const PutLabels* ServerProbe::labels_in_sums(std::uint32_t index) const {
  const Slot& slot = slots_[index];
  return slot.open ? totals_->puts.labels(slot_in_sums(index), slot.id) : nullptr;
}

void ServerProbe::observe_result(std::uint32_t index, std::uint64_t now_ns) {
  const PutLabels* const labels = labels_in_sums(index);
  if (labels == nullptr || object_.slots()[index].id != slots_[index].id) return;
  iocx_server_result& result = object_.results()[index];
  __u64 notify = __atomic_load_n(&result.notify, __ATOMIC_ACQUIRE);
  const std::uint64_t ended_ns = __atomic_load_n(&result.ended_ns, __ATOMIC_ACQUIRE);
  if (notify != 0 && ended_ns != 0 && now_ns > ended_ns + nanoseconds(kCancelGrace) &&
      __atomic_compare_exchange_n(&result.notify, &notify, 0, false, __ATOMIC_ACQ_REL,
                                  __ATOMIC_RELAXED))
    __atomic_fetch_add(&result.failures[IOCX_FAILED_CANCELLED], 1, __ATOMIC_RELAXED);
  observe_failures(kOfSlot | index, result.failures, *labels);
}

void ServerProbe::observe_failures(std::uint64_t source, const __u64* failures,
                                   const PutLabels& labels) {
  for (std::size_t i = 0; i < IOCX_FAILURES; ++i)
    if (const std::uint64_t count = __atomic_load_n(&failures[i], __ATOMIC_RELAXED); count != 0)
      totals_->outcomes(object_.protocol())
          .observe_failures({source, kPutFailureStatuses[i], 0}, labels, count,
                            (source & kOfSlot) == 0 || has_room(source));
}

void ServerProbe::observe_durations(std::uint32_t index, const iocx_server_durations& durations) {
  if (const PutLabels* const labels = labels_in_sums(index))
    totals_->outcomes(object_.protocol())
        .observe_durations(kOfSlot | index, *labels, durations, has_room(index));
}

// For what became of the puts of a slot.
bool ServerProbe::has_room(std::uint64_t index) {
  return totals_->puts.note_outcome(slot_in_sums(static_cast<std::uint32_t>(index)));
}

// A put-callback of the slot is under way.
bool ServerProbe::waits(std::uint32_t index, std::uint64_t now_ns) const {
  const iocx_server_result& result = object_.results()[index];
  const std::uint64_t asked_ns = __atomic_load_n(&result.asked_ns, __ATOMIC_ACQUIRE);
  return with_callbacks_.contains(index) ||
         __atomic_load_n(&result.notify, __ATOMIC_ACQUIRE) != 0 ||
         (asked_ns != 0 && now_ns < asked_ns + nanoseconds(kLongestWait));
}

// Those of IOCs that are not probed any more are forgotten: their end is not seen.
Result<void> ServerProbe::look_at_open_callbacks() {
  with_callbacks_.clear();
  if (!object_.has_callbacks()) return {};
  std::vector<iocx_open_callback_key> over;
  auto read = object_.maps().open_callbacks.for_each(
      [&](const iocx_open_callback_key& key, const iocx_open_callback& callback) {
        const Watched* const watched = of_generation(key.generation);
        if (watched == nullptr || watched->attach == 0)
          over.push_back(key);
        else
          with_callbacks_.insert(callback.slot);
      });
  if (!read) return read;
  for (const iocx_open_callback_key& key : over)
    if (auto forgotten = object_.forget_callback(key); !forgotten) return forgotten;
  return {};
}

Result<void> ServerProbe::add_pending(PendingPuts& pending) {
  for (const auto& [number, why] : unheard_) pending.unheard.insert(number);
  for (const auto& [serial, watched] : watched_)
    if (watched.reports_callbacks && watched.attach != 0) {
      pending.unheard.erase(watched.number);
      pending.watched.insert(watched.number);
    }
  const auto add = [&](std::uint32_t index, std::uint64_t id,
                       std::uint64_t since_ns) -> Result<void> {
    const iocx_server_slot& slot = object_.slots()[index];
    const Watched* const watched = of_generation(slot.who.generation);
    if (watched == nullptr || watched->attach == 0 || slots_[index].given_up) return {};
    auto labels = labels_of(watched->number, index);
    if (!labels) return std::move(labels).error();
    if (*labels && __atomic_load_n(&slot.id, __ATOMIC_ACQUIRE) == id)
      pending.puts.push_back({std::move(**labels), !is_ca(), since_ns});
    return {};
  };
  for (std::uint32_t index = 0; is_ca() && index < used_end_; ++index) {
    const iocx_server_result& result = object_.results()[index];
    const std::uint64_t id = __atomic_load_n(&object_.slots()[index].id, __ATOMIC_ACQUIRE);
    const std::uint64_t notify = __atomic_load_n(&result.notify, __ATOMIC_ACQUIRE);
    const std::uint64_t since_ns = __atomic_load_n(&result.since_ns, __ATOMIC_ACQUIRE);
    const std::uint64_t asked_ns = __atomic_load_n(&result.asked_ns, __ATOMIC_ACQUIRE);
    const bool started = notify != 0 && __atomic_load_n(&result.ended_ns, __ATOMIC_ACQUIRE) == 0;
    if (started)
      if (auto ok = add(index, id, since_ns); !ok) return ok;
    // One that waits within the server for the end of another one.
    if (asked_ns != 0 && (started || object_.slots()[index].guest != 0))
      if (auto ok = add(index, id, asked_ns); !ok) return ok;
  }
  Result<void> done;
  auto read = object_.maps().open_callbacks.for_each(
      [&](const iocx_open_callback_key&, const iocx_open_callback& callback) {
        if (done && callback.slot < slots_.size())
          done = add(callback.slot, callback.id, callback.since_ns);
      });
  return read ? done : read;
}

// An IOC whose server is not probed any more: results of its put-callbacks are not seen.
Result<void> ServerProbe::give_up_all(std::uint32_t generation, Clock::time_point now) {
  for (std::uint32_t index = 0; index < slots_.size(); ++index)
    if (slots_[index].generation == generation && !slots_[index].given_up)
      if (auto ok = give_up(index, now); !ok) return ok;
  return {};
}

// `last`: what is not known of it by now will not be.
Result<void> ServerProbe::observe(std::uint32_t index, bool last, Clock::time_point now) {
  const iocx_server_slot& source = object_.slots()[index];
  if (__atomic_load_n(&source.state, __ATOMIC_ACQUIRE) == IOCX_SLOT_FREE) return {};
  Slot& slot = slots_[index];
  const PutsByOp puts = puts_of(source, slot.id == source.id ? slot.growth.last() : PutsByOp{});
  if (slot.id == source.id && slot.open && slot.growth.last() == puts) return {};
  if (slot.id != source.id)
    slot = {.id = source.id, .generation = source.who.generation, .first = now, .changed = now};
  Watched* const watched = of_generation(slot.generation);
  if (watched == nullptr) return {};
  if (!slot.open) {
    auto opened = open(*watched, index, last, now);
    if (!opened || !slot.open) return opened;
  }
  const PutsByOp fresh = slot.growth.advance(puts);
  slot.changed = now;
  if (source.guest != 0) totals_->to_others_channels[watched->number] += fresh[0] + fresh[1];
  if (source.inside == 0) totals_->by_server[key_of(watched->number)] += fresh[0] + fresh[1];
  totals_->puts.observe(slot_in_sums(index), puts,
                        __atomic_load_n(&source.last_put, __ATOMIC_RELAXED));
  return {};
}

// It stays closed while its name may be known later. Where the server's hash of channels could not
// be read, the next put tries again.
Result<void> ServerProbe::open(const Watched& watched, std::uint32_t index, bool last,
                               Clock::time_point now) {
  Slot& slot = slots_[index];
  auto labels = labels_of(watched.number, index);
  if (!labels) return std::move(labels).error();
  if (!*labels) return {};
  if ((*labels)->pv.empty() && !last && !is_nowhere(object_.slots()[index]) &&
      now - slot.first < kNamePatience)
    return {};
  totals_->puts.open(slot_in_sums(index), slot.id, std::move(**labels));
  slot.open = true;
  return {};
}

Result<std::optional<PutLabels>> ServerProbe::labels_of(std::uint32_t number,
                                                        std::uint32_t index) const {
  if (!is_ca()) {
    const auto key = object_.maps().pva_info.lookup(index);
    if (!key) return key.error();
    return *key ? std::optional(puts::labels_of(number, **key)) : std::nullopt;
  }
  const auto read = object_.maps().ca_info.lookup(index);
  if (!read) return read.error();
  if (!*read) return std::optional<PutLabels>();
  const iocx_ca_server_info& info = **read;
  const iocx_server_slot& slot = object_.slots()[index];
  PutLabels labels;
  labels.ioc = number;
  labels.inside = slot.inside != 0;
  if (labels.inside) {
    const std::string source = kernel_text(info.host);
    labels.client = source.empty() ? kernel_text(info.user) : source;
  } else {
    labels.client = client_text(info.key.who.address);
    labels.user = kernel_text(info.user);
    labels.host = kernel_text(info.host);
  }
  if (__atomic_load_n(&slot.named, __ATOMIC_ACQUIRE) != 0)
    labels.pv = slot.by_db_addr != 0 ? name_of_record(info) : kernel_text(info.name);
  else if (slots_[index].id == slot.id)
    labels.pv = slots_[index].name;
  return std::optional(std::move(labels));
}

// Of that IOC, and its puts wait for a name.
bool ServerProbe::is_nameless(std::uint32_t index) const {
  const Slot& slot = slots_[index];
  const iocx_server_slot& source = object_.slots()[index];
  return slot.id != 0 && slot.id == source.id && !slot.open && slot.name.empty() &&
         !is_nowhere(source) && __atomic_load_n(&source.named, __ATOMIC_ACQUIRE) == 0;
}

std::set<std::uint32_t> ServerProbe::want_names(Clock::time_point now) const {
  std::set<std::uint32_t> nameless, due;
  for (std::uint32_t index = 0; index < used_end_; ++index)
    if (is_nameless(index))
      if (const auto number = number_of(slots_[index].generation)) nameless.insert(*number);
  if (nameless.empty()) return due;
  for (const auto& [serial, watched] : watched_)
    if (watched.attach != 0 && now >= watched.names_due && nameless.contains(watched.number))
      due.insert(watched.number);
  return due;
}

// The server gives each SID to one channel only.
void ServerProbe::take_names(std::uint32_t number, const CaServerTables& tables,
                             Clock::time_point begin, Clock::time_point end) {
  std::map<std::uint32_t, const std::string*> names;
  for (const CaServerClient& client : tables.clients)
    for (const CaServerChannel& channel : client.channels) names[channel.sid] = &channel.name;
  for (auto& [serial, watched] : watched_)
    if (watched.number == number)
      watched.names_due =
          end + std::clamp<Clock::duration>(10 * (end - begin), kNamesPause, 10 * kNamesPause);
  for (std::uint32_t index = 0; index < used_end_; ++index)
    if (is_nameless(index) && number_of(slots_[index].generation) == number)
      if (const auto name = names.find(object_.slots()[index].who.sid); name != names.end())
        slots_[index].name = *name->second;
}

std::map<std::uint32_t, std::uint64_t> ServerProbe::unnamed() const {
  std::map<std::uint32_t, std::uint64_t> unnamed;
  for (std::uint32_t index = 0; index < used_end_; ++index)
    if (const PutLabels* const labels = labels_in_sums(index); labels && labels->pv.empty())
      ++unnamed[labels->ioc];
  return unnamed;
}

PutsOfSlots ServerProbe::counted() const {
  PutsOfSlots counted;
  for (std::uint32_t index = 0; index < used_end_; ++index)
    if (const Slot& slot = slots_[index]; slot.open) {
      PutsByOp& puts = counted[slot.id] = slot.growth.last();
      const PutsByOp strays = strays_of(object_.slots()[index]);  // are among the put log's numbers
      for (std::size_t op = 0; op < puts.size(); ++op) puts[op] += strays[op];
    }
  return counted;
}

// A slot that was given back and taken again has another id.
std::optional<PutIdentity> ServerProbe::identify(const iocx_putlog_event& event) const {
  const auto number = number_of(event.generation);
  if (!number) return std::nullopt;
  PutIdentity who;
  if (!is_ca()) {
    who.labels.ioc = *number;
    who.labels.protocol = Protocol::pva;
    return who;
  }
  who.place = {*number, event.sid, {}, event.port};
  std::ranges::copy(event.address, who.place.address.bytes);
  who.labels.ioc = *number;
  who.labels.inside = (event.flags & IOCX_PUTLOG_INSIDE) != 0;
  who.settled = event.id == 0;  // without a slot it has no PV
  if (!who.labels.inside) who.labels.client = client_text(event.address);
  const auto is_still = [&] {
    return event.id != 0 && event.slot < slots_.size() &&
           __atomic_load_n(&object_.slots()[event.slot].id, __ATOMIC_ACQUIRE) == event.id;
  };
  const bool counted = is_still() && slots_[event.slot].id == event.id;
  if (const PutLabels* const labels = counted ? labels_in_sums(event.slot) : nullptr) {
    who.labels = *labels;
    who.settled = true;
  } else if (is_still()) {
    auto current = labels_of(*number, event.slot);
    if (current && *current && is_still()) who.labels = std::move(**current);
  }
  if (is_still() && object_.slots()[event.slot].guest != 0)
    if (const auto info = object_.maps().ca_info.lookup(event.slot); info && *info)
      who.channel_of = owner_text(**info);
  return who;
}

// The kernel's counters of it are 0 now, or gone.
void ServerProbe::forget_remainder(std::uint32_t generation) {
  totals_->outcomes(object_.protocol()).close(kOfRemainder | generation);
}

// Puts without a slot.
void ServerProbe::observe_remainder(Watched& watched, const iocx_server_remainder& remainder) {
  const PutLabels labels{watched.number, "", "", "", "", false, object_.protocol()};
  observe_failures(kOfRemainder | watched.generation, remainder.failures, labels);
  const PutsByOp growth = watched.remainder.advance({remainder.puts[0], remainder.puts[1]});
  if (growth == PutsByOp{}) return;
  totals_->by_server[key_of(watched.number)] += growth[0] + growth[1];
  totals_->puts.add(slot_in_sums(0), labels, growth, remainder.last_put & ~1ULL);
}

Result<void> ServerProbe::reap(Clock::time_point now) {
  const std::uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
  const auto idle = object_.held() > slots_.size() / 2 ? kIdleWhenCrowded : kIdle;
  for (std::uint32_t index = 0; index < used_end_; ++index) {
    const Slot& slot = slots_[index];
    const iocx_server_slot& source = object_.slots()[index];
    const std::uint32_t state = __atomic_load_n(&source.state, __ATOMIC_ACQUIRE);
    if (state == IOCX_SLOT_FREE || slot.id != source.id) continue;
    const bool is_idle = slot.open && now - slot.changed >= idle && !waits(index, now_ns);
    Result<void> done;
    if (slot.given_up)
      done = now - *slot.given_up < kGrace ? Result<void>() : free(index, now);
    else if (is_idle || of_generation(slot.generation) == nullptr)
      done = give_up(index, now);
    if (!done) return done;
  }
  std::erase_if(lives_, [now](const auto& life) {
    return life.second.ended && now - *life.second.ended >= kGrace;
  });
  return {};
}

// Counts since the last look are added first.
Result<void> ServerProbe::free(std::uint32_t index, Clock::time_point now) {
  if (auto ok = observe(index, true, now); !ok) return ok;
  observe_result(index, clock_ns(CLOCK_MONOTONIC));
  auto durations = object_.maps().durations.lookup(index);
  if (!durations) return std::move(durations).error();
  if (*durations) observe_durations(index, **durations);
  const iocx_server_result& result = object_.results()[index];
  if (result.notify != 0) ++lost_results_;
  if (result.asked_ns != 0) ++lost_results_;
  totals_->outcomes(object_.protocol()).close(kOfSlot | index);
  totals_->puts.close(slot_in_sums(index));
  slots_[index] = {};
  return object_.give_slot(index);
}

// The next put of the client to the PV finds no key, and takes another slot.
Result<void> ServerProbe::give_up(std::uint32_t index, Clock::time_point now) {
  if (auto ok = object_.give_up(index); !ok) return ok;
  slots_[index].given_up = now;
  return {};
}

}  // namespace ioc_exporter::puts
