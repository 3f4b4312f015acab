#include "records/probe/threads.h"

#include <charconv>

#include "exposition/label_text.h"
#include "exposition/limited_series.h"

namespace ioc_exporter::records {

namespace {

constexpr std::size_t kHits = offsetof(iocx_thread, counts.roots);
constexpr std::size_t kCounts = offsetof(iocx_thread, frames);
static_assert(kHits % 8 == 0 && kCounts % 8 == 0);

constexpr std::size_t size_of(ThreadPart part) {
  switch (part) {
    case ThreadPart::hits:
      return kHits;
    case ThreadPart::counts:
      return kCounts;
    case ThreadPart::frames:
      break;
  }
  return sizeof(iocx_thread);
}

std::uint64_t id_of_place(const RecordProcessObject& object, std::uint32_t place, ThreadPart part,
                          iocx_thread& into) {
  object.maps().threads.read(place, &into, size_of(part));
  return into.owner;
}

}  // namespace

std::string cause_label(std::uint32_t cause, const char (&comm)[IOCX_COMM_LEN]) {
  if (cause >= IOCX_CAUSES) cause = IOCX_CAUSE_OTHER;
  if (cause != IOCX_CAUSE_SCAN) return iocx_cause_labels[cause];
  constexpr std::string_view kScan = "scan-";
  const std::string_view name(comm, ::strnlen(comm, sizeof comm));
  return "scan_" + std::string(name.substr(std::min(kScan.size(), name.size())));
}

std::string thread_kind(std::uint32_t cause, const char (&comm)[IOCX_COMM_LEN]) {
  const std::string_view name(comm, ::strnlen(comm, sizeof comm));
  if (cause == IOCX_CAUSE_SCAN) return std::string(name);  // one of menuScan's
  const std::size_t end = name.find_last_not_of("0123456789.:-_#/ ");
  return exposition::utf8_safe(end == std::string_view::npos ? name : name.substr(0, end + 1));
}

std::string ThreadNames::label(std::uint32_t cause, const char (&comm)[IOCX_COMM_LEN]) {
  std::string kind = thread_kind(cause, comm);
  if (names_.contains(kind)) return kind;
  if (names_.size() >= kMost) return std::string(exposition::kOther);
  names_.insert(kind);
  return kind;
}

void add_thread(IocCounts& into, const iocx_thread& thread, ThreadNames& names) {
  const iocx_thread_counts& counts = thread.counts;
  into.hits.add(counts);
  into.timed += counts.timed;
  if (counts.roots > 0) into.causes[cause_label(thread.cause, thread.comm)] += counts.roots;
  if (counts.nested > 0) into.causes["link"] += counts.nested;
  std::uint64_t own = counts.roots;
  for (std::uint32_t cause = IOCX_CAUSE_DIRECT; cause < IOCX_CAUSES; ++cause) {
    const auto count = counts.by_cause[cause - IOCX_CAUSE_DIRECT];
    if (count > 0) into.causes[iocx_cause_labels[cause]] += count;
    own += count;
  }
  if (own > 0) into.threads[names.label(thread.cause, thread.comm)] += own;
  for (std::size_t i = 0; i < IOCX_SEVERITIES; ++i) into.transitions[i] += counts.transitions[i];
}

// A thread is counted before it has its place, and no more where another one was faster: as many
// places as are counted are all that there are.
Result<const ThreadPlaces::Places*> ThreadPlaces::taken(const RecordProcessObject& object) {
  const RecordMaps& maps = object.maps();
  if (are_known_ && places_.size() == maps.caps.held(IOCX_HELD_THREADS)) return &places_;
  are_known_ = false;
  places_.clear();
  auto read = maps.thread_owners.for_each([&](std::uint32_t place, std::uint64_t owner) {
    if (place < maps.threads.size()) places_.emplace_back(place, owner);
  });
  if (!read) return read.error();
  are_known_ = true;
  return &places_;
}

Result<void> for_each_thread(const RecordProcessObject& object, ThreadPlaces& places,
                             ThreadPart part, const std::function<void(const iocx_thread&)>& each) {
  auto taken = places.taken(object);
  if (!taken) return std::move(taken).error();
  auto thread = std::make_unique<iocx_thread>();
  for (const auto& [place, owner] : **taken)
    // Its owner has the place, but may not have come to sign it yet.
    if (id_of_place(object, place, part, *thread) == owner) each(*thread);
  if (object.maps().caps.held(IOCX_HELD_OVERFLOW_THREADS) == 0) return {};
  return object.maps().overflow_threads.for_each(
      [&](std::uint64_t, const iocx_thread& overflow) { each(overflow); });
}

Result<void> free_ended_threads(const RecordProcessObject& object, ThreadPlaces& all,
                                const std::function<bool(std::int32_t, std::int32_t)>& alive,
                                const std::function<void(const iocx_thread&)>& ended) {
  const auto is_alive = [&alive](std::uint64_t id) {
    return alive(static_cast<std::int32_t>(id >> 32), static_cast<std::int32_t>(id & 0xffffffff));
  };
  auto taken = all.taken(object);
  if (!taken) return std::move(taken).error();
  ThreadPlaces::Places places;
  for (const auto& [place, id] : **taken)
    if (!is_alive(id)) places.emplace_back(place, id);
  if (!places.empty()) all.forget();
  auto thread = std::make_unique<iocx_thread>();
  for (const auto& [place, id] : places) {
    if (id_of_place(object, place, ThreadPart::frames, *thread) == id) ended(*thread);
    if (auto freed = object.free_thread_place(place); !freed) return freed;
    object.maps().caps.give(IOCX_HELD_THREADS, thread->holder);
  }
  if (object.maps().caps.held(IOCX_HELD_OVERFLOW_THREADS) == 0) return {};
  auto overflow = object.maps().overflow_threads.keys();
  if (!overflow) return std::move(overflow).error();
  for (const std::uint64_t id : *overflow) {
    if (is_alive(id)) continue;
    auto last = object.maps().overflow_threads.lookup(id);
    if (!last) return std::move(last).error();
    if (!*last) continue;
    ended(**last);
    if (auto erased = object.maps().overflow_threads.erase(id); !erased)
      return std::move(erased).error();
    object.maps().caps.give(IOCX_HELD_OVERFLOW_THREADS, (*last)->holder);
  }
  return {};
}

namespace {

constexpr std::array<std::string_view, 7> kUsual = {"10", "5", "2", "1", "0.5", "0.2", "0.1"};

}  // namespace

bool is_usual_scan_period(std::string_view period) {
  return std::ranges::find(kUsual, period) != kUsual.end();
}

iocx_scan_name scan_name(std::uint32_t generation, std::string_view period) {
  iocx_scan_name name{};
  name.generation = generation;
  const std::string text = "scan-" + std::string(period);
  std::memcpy(name.comm, text.data(), std::min(text.size(), sizeof name.comm - 1));
  return name;
}

Result<void> add_usual_scan_names(const kernel::MapView<iocx_scan_name, std::uint8_t>& names) {
  for (const std::string_view period : kUsual)
    if (auto ok = names.update(scan_name(0, period), 1); !ok) return ok;
  return {};
}

static_assert(sizeof(iocx_scan_list) == 64 + IOCX_PUT_HIST_SLOTS * 8);
static_assert(offsetof(iocx_scan_list, comm) == 8 && offsetof(iocx_scan_list, buckets) == 64);

ScanPeriod scan_period(std::string_view thread_name) {
  constexpr std::string_view kPrefix = "scan-";
  if (!thread_name.starts_with(kPrefix)) return {};
  const std::string_view text = thread_name.substr(kPrefix.size());
  double seconds = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc{} || stop != text.data() + text.size() || !(seconds > 0)) return {};
  return {std::string(text), seconds};
}

Result<std::map<std::uint32_t, std::vector<iocx_scan_list>>> read_scan_lists(
    const RecordMaps& maps) {
  std::map<std::uint32_t, std::vector<iocx_scan_list>> by_slot;
  auto read = maps.scan_lists.for_each([&](std::uint64_t, const iocx_scan_list& list) {
    if (list.end_ns != 0) by_slot[list.slot].push_back(list);
  });
  if (!read) return read.error();
  return by_slot;
}

Result<void> forget_scan_lists(const RecordMaps& maps, std::uint32_t slot) {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> gone;
  auto read = maps.scan_lists.for_each([&](std::uint64_t thread, const iocx_scan_list& list) {
    if (list.slot == slot && list.holder != 0) gone.emplace_back(thread, list.holder);
  });
  if (!read) return read;
  for (const auto& [thread, holder] : gone) {
    auto erased = maps.scan_lists.erase(thread);
    if (!erased) return std::move(erased).error();
    if (*erased) maps.caps.give(IOCX_HELD_SCAN_LISTS, holder);
  }
  return {};
}

}  // namespace ioc_exporter::records
