#include "functions/watch.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <numeric>

#include "base/rooted_fs.h"
#include "kernel/uprobe.h"

namespace ioc_exporter::functions {
namespace {

bool is_same(const iocx_function_place& a, iocx_function_place b) {
  b.hits = a.hits;
  return std::memcmp(&a, &b, sizeof a) == 0;
}

std::string label_text(const Value& value, const iocx_function_key& key, std::uint32_t word) {
  if (value.type != Type::text)
    return value.number_text(static_cast<std::int64_t>(key.words[word]));
  const auto* const text = reinterpret_cast<const char*>(&key.words[word]);
  return {text, ::strnlen(text, value.size)};
}

std::uint32_t words_of(const Value& value) {
  return value.from_symbol() ? 0 : value.type == Type::text ? (value.size + 7) / 8 : 1;
}

bool has_read_labels(const Description& description) {
  return std::ranges::any_of(
      description.labels, [](const DescribedLabel& label) { return !label.value.from_symbol(); });
}

iocx_function_value compiled_or_nothing(const Value& value) {
  const auto compiled = value.compiled();
  return compiled ? *compiled : iocx_function_value{};
}

}  // namespace

FunctionWatch::FunctionWatch(FunctionsObject& object,
                             std::shared_ptr<const Descriptions> descriptions, double budget)
    : object_(object), descriptions_(std::move(descriptions)), budget_(budget) {
  for (std::uint32_t series = FunctionsObject::kOwnSeries; series-- > 1;)
    free_own_.push_back(series);
}

// Another one may use the object next: nothing is left in it.
FunctionWatch::~FunctionWatch() {
  set_detached(true);
  install({});
  keep({});
  sweep();
}

void FunctionWatch::follow(const std::vector<WatchedIoc>& iocs) {
  std::set<iocs::IocId> there;
  for (const WatchedIoc& ioc : iocs) {
    there.insert(ioc.id);
    const auto [known, is_new] = lives_.try_emplace(ioc.id);
    Life& life = known->second;
    if (is_new || life.ioc.serial != ioc.serial) life = {ioc, ++last_epoch_};
    changed_ |= life.ioc.left_alone != ioc.left_alone || life.ioc.number != ioc.number;
    life.ioc = ioc;
  }
  changed_ |=
      std::erase_if(lives_, [&](const auto& one) { return !there.contains(one.first); }) > 0;
}

void FunctionWatch::take(const iocs::IocId& id, std::uint64_t serial, LookedAt found) {
  const auto life = lives_.find(id);
  if (life == lives_.end() || life->second.ioc.serial != serial) return;
  life->second.files = std::move(found.files);
  for (const std::string& problem : found.problems)
    if (reported_.insert(life->second.ioc.name + problem).second)
      log::warn("ioc {}: function {}", life->second.ioc.name, problem);
  for (const FunctionState& state : problems_of(life->second))
    if (reported_.insert(state.name + state.file + state.state).second)
      log::warn("function {} in {}: {}", state.name, state.file, state.state);
  changed_ = true;
}

// What is found in another file of the IOC is not missing.
std::vector<FunctionState> FunctionWatch::problems_of(const Life& life) const {
  std::map<std::uint32_t, const DescribedFile*> found;
  for (const FileInIoc& file : life.files)
    for (const DescribedFunction& one : file.file->functions)
      found[one.description] = file.file.get();
  std::vector<FunctionState> problems;
  for (const FileInIoc& file : life.files)
    for (const auto& [index, problem] : file.file->problems) {
      const Description& one = (*descriptions_)[index];
      if (one.symbol.kind == Symbol::Kind::pointer) continue;  // LookedAt::problems
      const auto elsewhere = found.find(index);
      if (elsewhere == found.end() || elsewhere->second == file.file.get())
        problems.push_back({one.name, file.file->path, one.symbol.text, problem, 1});
    }
  return problems;
}

std::map<pid_t, std::vector<PointerSeen>> FunctionWatch::pointers() const {
  std::map<pid_t, std::vector<PointerSeen>> all;
  const auto read = object_.maps().pointers.for_each(
      [&](const iocx_function_pointer_key& key, const iocx_holder&) {
        if (key.function >= functions_.size()) return;
        const std::string& of = (*descriptions_)[functions_[key.function].description].name;
        for (std::uint32_t i = 0; i < descriptions_->size(); ++i)
          if ((*descriptions_)[i].symbol.of == of)
            all[static_cast<pid_t>(key.tgid)].push_back({key.address, i});
      });
  if (!read) log::warn("{}", read.error().message());
  for (auto& [pid, seen] : all) {
    std::ranges::sort(seen);
    if (seen.size() > kMostPointers) seen.resize(kMostPointers);
  }
  return all;
}

void FunctionWatch::set_detached(bool detached) {
  if (std::exchange(detached_, detached) == detached) return;
  changed_ = true;
  if (detached) attach({}, Clock::now());
}

void FunctionWatch::tick(Clock::time_point now) {
  for (auto& [place, off] : off_)
    if (now >= off.until && !std::exchange(off.is_back, true)) changed_ = true;
  for (const auto& [place, retry] : retries_)
    changed_ |= failed_.contains(place) && retry.is_due(now);
  if (std::exchange(changed_, false)) {
    auto wanted = wanted_places(now);
    begin_epochs(wanted);
    Installation next = installation(wanted);
    // What is not wanted is taken off before its places go, and on after they are there.
    std::map<Place, Wanted> kept;
    for (const auto& [place, one] : wanted)
      if (attached_.contains(place)) kept.insert({place, one});
    attach(kept, now);
    install(std::move(next));
    attach(wanted, now);
    std::erase_if(failed_, [&](const auto& one) { return !wanted.contains(one.first); });
    wanted_ = std::move(wanted);
    note_counted();
  }
  if (now >= next_cost_) look_at_cost(now);
  if (now >= next_sweep_) {
    next_sweep_ = now + kSweep;
    sweep();
  }
}

void FunctionWatch::want(std::map<Place, Wanted>& wanted, const FileInIoc& file) {
  for (const DescribedFunction& found : file.file->functions) {
    Wanted& one = wanted[{file.file->code->id(), found.code.file_offset}];
    const auto index = index_of(found);
    if (!one.first) {
      one.file = file.file;
      one.first = &found;
    }
    if (!index || std::ranges::find(one.functions, *index) != one.functions.end()) continue;
    if (one.functions.size() == IOCX_FUNCTION_AT_ONCE) {
      const std::string text = (*descriptions_)[found.description].name +
                               ": four others describe the same function, too";
      if (reported_.insert(text).second) log::warn("function {}", text);
      continue;
    }
    one.functions.push_back(*index);
    const auto& result = (*descriptions_)[found.description].result;
    const bool with_result = result && result->from_return();
    if (!found.ending || (one.ending && !with_result)) continue;
    one.ending = found.ending;
    one.with_result = with_result;
  }
}

std::map<FunctionWatch::Place, FunctionWatch::Wanted> FunctionWatch::wanted_places(
    Clock::time_point now) {
  std::map<Place, Wanted> wanted;
  if (detached_) return wanted;
  std::set<iocs::FileId> held;
  for (const auto& [id, life] : lives_)
    for (const FileInIoc& file : life.files) {
      if (life.ioc.left_alone && file.file->code) held.insert(file.file->code->id());
      want(wanted, file);
    }
  std::erase_if(wanted, [&](const auto& one) {
    const auto off = off_.find(one.first);
    return one.second.functions.empty() || held.contains(one.first.first) ||
           (off != off_.end() && now < off->second.until);
  });
  return wanted;
}

// What begins before the probes were off has no end that is seen: an address may mean another call
// by then.
void FunctionWatch::begin_epochs(const std::map<Place, Wanted>& wanted) {
  std::set<iocs::FileId> back;
  for (const auto& [place, one] : wanted)
    if (!attached_.contains(place) && were_attached_.contains(place)) back.insert(place.first);
  for (auto& [id, life] : lives_)
    if (std::ranges::any_of(life.files, [&](const FileInIoc& file) {
          return file.file->code && back.contains(file.file->code->id());
        }))
      life.epoch = ++last_epoch_;
}

FunctionWatch::Installation FunctionWatch::installation(const std::map<Place, Wanted>& wanted) {
  Installation all;
  for (const auto& [id, life] : lives_)
    for (const FileInIoc& file : life.files)
      for (const DescribedFunction& found : file.file->functions) {
        const Place place{file.file->code->id(), found.code.file_offset};
        if (const auto one = wanted.find(place); one != wanted.end() && !life.ioc.left_alone)
          add_places(all, life, file, place, one->second);
      }
  return all;
}

void FunctionWatch::add_places(Installation& all, const Life& life, const FileInIoc& file,
                               const Place& place, const Wanted& wanted) {
  const auto add = [&](std::uint64_t offset, std::uint32_t which, iocx_function_place value) {
    for (const MappedCode& code : file.code) {
      if (offset < code.offset || offset - code.offset >= code.end - code.start) continue;
      const iocx_function_place_key key{code.start + (offset - code.offset),
                                        static_cast<std::uint32_t>(life.ioc.id.pid), which};
      all[key] = {value, place};
    }
  };
  std::vector<iocx_function_place> entries, ends;
  for (const std::uint32_t function : wanted.functions) {
    const auto series = rest_series(life.ioc.number, life, function);
    if (!series) continue;
    iocx_function_place value{};
    value.function = function;
    value.ioc = life.ioc.number;
    value.series = *series;
    value.epoch = life.epoch;
    value.holder = iocx_holder_of(life.ioc.number, life.ioc.user);
    entries.push_back(value);
    if (functions_[function].ends && wanted.ending) ends.push_back(value);
  }
  for (std::uint32_t i = 0; i < entries.size(); ++i) {
    entries[i].more = i + 1 < entries.size();
    add(place.second, IOCX_FUNCTION_WHICH(i, 0), entries[i]);
  }
  for (std::uint32_t i = 0; i < ends.size(); ++i)
    for (const iocs::FunctionEnd& end : wanted.ending->ends()) {
      ends[i].more = i + 1 < ends.size();
      ends[i].below = end.below;
      ends[i].condition = end.condition;
      add(end.offset, IOCX_FUNCTION_WHICH(i, 1), ends[i]);
    }
}

void FunctionWatch::install(Installation next) {
  const auto& places = object_.maps().places;
  for (const auto& [key, old] : installed_)
    if (!next.contains(key))
      if (const auto erased = places.erase(key); !erased) log::warn("{}", erased.error().message());
  Result<void> all;
  for (auto& [key, one] : next) {
    const auto old = installed_.find(key);
    if (old != installed_.end() && is_same(old->second.value, one.value)) {
      one.hits = old->second.hits;
      continue;
    }
    if (auto done = places.update(key, one.value); !done) all = std::move(done);
  }
  trouble_.report("note where functions are", all);
  installed_ = std::move(next);
}

void FunctionWatch::attach(const std::map<Place, Wanted>& wanted, Clock::time_point now) {
  std::vector<iocs::FunctionProbe> off;
  for (auto one = attached_.begin(); one != attached_.end();) {
    const auto still = wanted.find(one->first);
    const bool stays = still != wanted.end() && still->second.ending.get() == one->second.ending;
    if (!stays) off.push_back(std::move(one->second.probe));
    one = stays ? std::next(one) : attached_.erase(one);
  }
  kernel::take_off_together(std::move(off));
  for (const auto& [place, one] : wanted) {
    Retry& retry = retries_[place];
    if (attached_.contains(place) || !retry.is_due(now)) continue;
    iocs::ProbePlace where{one.file->code, one.file->path, place.second, kernel::kAllProcesses,
                           one.ending};
    where.function = (*descriptions_)[one.first->description].name;
    const auto program = one.with_result ? FunctionsObject::kWithResult : FunctionsObject::kPlain;
    auto probe = object_.attacher().attach(program, where);
    if (probe) {
      attached_.emplace(place, Attached{std::move(*probe), one.ending.get()});
      were_attached_.insert(place);
      failed_.erase(place);
      retry.succeeded();
      continue;
    }
    failed_[place] = probe.error().message();
    if (retry.failed(now, failed_[place])) log::warn("{}", failed_[place]);
  }
}

void FunctionWatch::note_counted() {
  counted_.clear();
  suspended_.clear();
  for (const auto& [id, life] : lives_)
    for (const FileInIoc& file : life.files)
      for (const DescribedFunction& found : file.file->functions) {
        const bool is_on = attached_.contains({file.file->code->id(), found.code.file_offset}) &&
                           !life.ioc.left_alone;
        const auto [known, is_new] =
            counted_.try_emplace({life.ioc.number, found.description}, true);
        known->second = known->second && is_on;
        if (const auto index = index_of(found); index && !is_on)
          suspended_.insert({life.ioc.number, *index});
      }
}

// Nothing: there are too many.
std::optional<std::uint32_t> FunctionWatch::index_of(const DescribedFunction& found) {
  Function function{found.description, {}, found.ending != nullptr};
  for (const DescribedLabel& label : (*descriptions_)[found.description].labels)
    function.texts.push_back(
        label.value.match ? label.value.match->rewritten(found.symbol, "\\1").value_or("") : "");
  if (const auto known = indices_.find(function); known != indices_.end()) return known->second;
  if (functions_.size() == IOCX_FUNCTIONS) return {};
  const auto index = static_cast<std::uint32_t>(functions_.size());
  if (const auto done = object_.maps().functions.update(index, compiled(function)); !done) {
    log::warn("{}", done.error().message());
    return {};
  }
  functions_.push_back(function);
  indices_.emplace(std::move(function), index);
  return index;
}

iocx_function FunctionWatch::compiled(const Function& function) const {
  const Description& description = (*descriptions_)[function.description];
  iocx_function made{};
  std::uint32_t labels = 0;
  for (const DescribedLabel& label : description.labels) {
    if (label.value.from_symbol()) continue;
    made.labels[labels] = compiled_or_nothing(label.value);
    made.labels[labels++].word = static_cast<std::uint8_t>(made.words);
    made.words += words_of(label.value);
  }
  if (description.timed && function.ends) made.flags |= IOCX_FUNCTION_TIMED;
  if (description.result) {
    made.result = compiled_or_nothing(*description.result);
    if (!description.result->from_return()) made.flags |= IOCX_FUNCTION_RESULT;
    if (description.result->from_return() && function.ends)
      made.flags |= IOCX_FUNCTION_RESULT_AT_END;
  }
  if (description.key) made.key = compiled_or_nothing(*description.key);
  for (std::uint32_t i = 0; i < descriptions_->size(); ++i) {
    const Description& other = (*descriptions_)[i];
    if (other.since == description.name) {
      made.flags |= IOCX_FUNCTION_BEGINS;
      made.begins = function.description;
    }
    if (!description.since.empty() && other.name == description.since) {
      made.flags |= IOCX_FUNCTION_SINCE;
      made.since = i;
    }
    if (other.symbol.of == description.name) {
      made.flags |= IOCX_FUNCTION_POINTER;
      made.pointer = compiled_or_nothing(*other.symbol.place);
    }
  }
  return made;
}

// The series of a function in an IOC, of which it is known that it is there.
std::optional<std::uint32_t> FunctionWatch::rest_series(std::uint32_t number, const Life& life,
                                                        std::uint32_t function) {
  const auto known = rest_.find({number, function});
  if (known != rest_.end()) return known->second;
  if (free_own_.empty()) {
    const std::string text = "ioc " + life.ioc.name +
                             ": not all described functions are counted: "
                             "there are too many of them in all IOCs";
    if (reported_.insert(text).second) log::warn("{}", text);
    return {};
  }
  const std::uint32_t index = free_own_.back();
  free_own_.pop_back();
  iocx_function_series& series = object_.series()[index];
  series.key.ioc = number;
  series.key.function = static_cast<std::uint16_t>(function);
  __atomic_store_n(&series.used, 1, __ATOMIC_RELEASE);
  rest_[{number, function}] = index;
  return index;
}

void FunctionWatch::free_series(std::uint32_t index) {
  iocx_function_series& series = object_.series()[index];
  const auto& maps = object_.maps();
  if (index >= FunctionsObject::kOwnSeries) {
    iocx_function_few_key few{series.key.ioc, series.key.function, series.key.unread, {}};
    std::copy_n(series.key.words, IOCX_FUNCTION_FEW_WORDS, few.words);
    static_cast<void>(maps.by_few.erase(few));
    static_cast<void>(maps.by_key.erase(series.key));
    maps.shares.give(IOCX_FUNCTION_SHARE_SERIES, series.holder.ioc, series.holder.user);
  }
  series = {};
  object_.times()[index] = {};
  if (index < FunctionsObject::kOwnSeries)
    free_own_.push_back(index);
  else
    trouble_.report("free a series of a function", object_.push_free(index));
}

void FunctionWatch::keep(const Names& names) {
  std::set<std::uint32_t> freed;
  for (std::uint32_t i = 1; i < FunctionsObject::kSeries; ++i) {
    const iocx_function_series& series = object_.series()[i];
    if (__atomic_load_n(&series.used, __ATOMIC_ACQUIRE) == 0 || names.contains(series.key.ioc))
      continue;
    rest_.erase({series.key.ioc, series.key.function});
    freed.insert(i);
    free_series(i);
  }
  if (freed.empty()) return;
  const auto& results = object_.maps().results;
  const auto keys = results.keys();
  if (!keys) return log::warn("{}", keys.error().message());
  for (const iocx_function_result_key& key : *keys) {
    if (!freed.contains(key.series)) continue;
    const auto value = results.lookup(key);
    static_cast<void>(results.erase(key));
    if (value && *value)
      object_.maps().shares.give(IOCX_FUNCTION_SHARE_RESULTS, (*value)->holder.ioc,
                                 (*value)->holder.user);
  }
}

std::string FunctionWatch::name_of(const Place& place) const {
  const auto found = wanted_.find(place);
  if (found == wanted_.end()) return "?";
  return (*descriptions_)[found->second.first->description].name + " in " +
         found->second.file->path;
}

void FunctionWatch::look_at_cost(Clock::time_point now) {
  const double seconds = std::chrono::duration<double>(now - last_cost_).count();
  const bool is_first = last_cost_ == Clock::time_point{};
  next_cost_ = now + kLook;
  last_cost_ = now;
  if (installed_.empty() || budget_ <= 0) return;
  std::map<std::int32_t, std::map<Place, std::uint64_t>> hits;
  const auto read = object_.maps().places.for_each(
      [&](const iocx_function_place_key& key, const iocx_function_place& place) {
        const auto known = installed_.find(key);
        if (known == installed_.end()) return;
        const std::uint64_t before = std::exchange(known->second.hits, place.hits);
        // Each of several descriptions at one place counts the same trap.
        if (key.which <= IOCX_FUNCTION_WHICH(0, 1) && place.hits > before)
          hits[static_cast<std::int32_t>(key.tgid)][known->second.place] += place.hits - before;
      });
  trouble_.report("read what functions cost", read);
  if (is_first) return;
  for (auto& [id, life] : lives_) {
    const auto& own = hits[id.pid];
    std::uint64_t sum = 0;
    for (const auto& [place, count] : own) sum += count;
    const bool is_over = static_cast<double>(sum) * kHitSeconds > budget_ * seconds;
    life.over = is_over ? life.over + 1 : 0;
    if (life.over < kLooksOver) continue;
    life.over = 0;
    const auto most = std::ranges::max_element(own, {}, [](const auto& one) { return one.second; });
    switch_off(most->first, life.ioc.name, static_cast<double>(most->second) / seconds, now);
  }
}

void FunctionWatch::switch_off(const Place& place, const std::string& ioc, double rate,
                               Clock::time_point now) {
  Off& off = off_[place];
  // It was on for long: it begins anew.
  const bool is_again = off.is_back && now - off.until < off.rest;
  off = {now, false, is_again ? std::min(off.rest * 2, kMostRest) : kFirstRest};
  off.until += off.rest;
  changed_ = true;
  log::warn(
      "function {} is not counted for {} s: its {:.0f} hits a second in ioc {} are more than "
      "--overhead.budget allows",
      name_of(place), off.rest.count(), rate, ioc);
}

// What threads, keys and pointers of processes leave that have ended.
void FunctionWatch::sweep() {
  const auto& maps = object_.maps();
  std::set<std::uint32_t> processes, epochs;
  for (const auto& [id, life] : lives_) {
    processes.insert(static_cast<std::uint32_t>(id.pid));
    epochs.insert(life.epoch);
  }
  const bool crowded = maps.shares.is_crowded(IOCX_FUNCTION_SHARE_THREADS);
  const auto erase = [&](const auto& map, std::uint32_t table, const auto& is_over,
                         const auto& holder_of) {
    using Key = typename std::remove_cvref_t<decltype(map)>::Key;
    std::vector<std::pair<Key, iocx_holder>> over;
    const auto read = map.for_each([&](const Key& key, const auto& value) {
      if (is_over(key, value)) over.emplace_back(key, holder_of(value));
    });
    for (const auto& [key, holder] : over)
      if (const auto erased = map.erase(key); erased && *erased)
        maps.shares.give(table, holder.ioc, holder.user);
    return read;
  };
  const RootedFs fs;
  const auto of = [](const auto& value) { return value.holder; };
  auto done = erase(
      maps.threads, IOCX_FUNCTION_SHARE_THREADS,
      [&](const iocx_function_thread_key& key, const iocx_function_thread&) {
        const auto tgid = static_cast<std::uint32_t>(key.id >> 32);
        const auto tid = static_cast<std::uint32_t>(key.id);
        return !processes.contains(tgid) || (crowded && !fs.list("/proc/" + std::to_string(tgid) +
                                                                 "/task/" + std::to_string(tid)));
      },
      of);
  const std::uint64_t now =
      static_cast<std::uint64_t>(std::chrono::nanoseconds(Clock::now().time_since_epoch()).count());
  constexpr std::uint64_t kOldest = 1'024'000'000'000;
  auto starts = erase(
      maps.starts, IOCX_FUNCTION_SHARE_STARTS,
      [&](const iocx_function_start_key& key, const iocx_function_start& start) {
        return !epochs.contains(key.epoch) || start.start_ns + kOldest < now;
      },
      of);
  auto pointers = erase(
      maps.pointers, IOCX_FUNCTION_SHARE_POINTERS,
      [&](const iocx_function_pointer_key& key, const iocx_holder&) {
        return !processes.contains(key.tgid);
      },
      [](const iocx_holder& holder) { return holder; });
  for (Result<void>* const part : {&starts, &pointers})
    if (!*part) done = std::move(*part);
  trouble_.report("free what ended IOCs have left of functions", done);
}

std::vector<WatchedSample> FunctionWatch::watched(const Names& names) const {
  std::vector<WatchedSample> samples;
  for (const auto& [key, is_counted] : counted_)
    if (const auto ioc = names.find(key.first); ioc != names.end())
      samples.push_back({ioc->second, (*descriptions_)[key.second].name, is_counted});
  return samples;
}

// Values of a series' labels. False: one of them does not print, and is empty.
bool FunctionWatch::read_labels(const iocx_function_series& series, bool is_rest,
                                FunctionSample& sample) const {
  const Function& function = functions_[series.key.function];
  const Description& description = (*descriptions_)[function.description];
  std::uint32_t word = 0, read = 0;
  bool all_print = true;
  for (std::size_t i = 0; i < description.labels.size(); ++i) {
    const auto& [name, value] = description.labels[i];
    std::string text = function.texts[i];
    if (!value.from_symbol()) {
      const bool is_unread = (series.key.unread >> read++ & 1) != 0;
      text = is_rest ? "(other)" : is_unread ? "" : label_text(value, series.key, word);
      word += words_of(value);
    }
    const bool is_shown = text.empty() || prints(text);
    all_print = all_print && is_shown;
    sample.labels.emplace_back(name, is_shown ? std::move(text) : "");
  }
  return all_print;
}

std::vector<FunctionSample> FunctionWatch::samples(const Names& names) const {
  std::vector<FunctionSample> samples;
  std::map<std::uint32_t, std::pair<std::size_t, const Description*>> by_series;
  unprinted_ = 0;
  for (std::uint32_t i = 1; i < FunctionsObject::kSeries; ++i) {
    const iocx_function_series& series = object_.series()[i];
    if (__atomic_load_n(&series.used, __ATOMIC_ACQUIRE) == 0 ||
        series.key.function >= functions_.size() ||
        suspended_.contains({series.key.ioc, series.key.function}))
      continue;
    const auto ioc = names.find(series.key.ioc);
    const std::uint64_t calls = __atomic_load_n(&series.calls, __ATOMIC_RELAXED);
    const Function& function = functions_[series.key.function];
    const Description& description = (*descriptions_)[function.description];
    const bool is_rest = i < FunctionsObject::kOwnSeries;
    if (ioc == names.end() || (is_rest && calls == 0 && has_read_labels(description))) continue;
    FunctionSample sample{ioc->second, description.name, {}, calls};
    sample.description = &description;
    if (!read_labels(series, is_rest, sample)) unprinted_ += calls;
    if ((description.timed && function.ends) || !description.since.empty()) {
      const iocx_function_times& times = object_.times()[i];
      auto& durations = sample.durations.emplace();
      durations.sum_ns = __atomic_load_n(&times.sum_ns, __ATOMIC_RELAXED);
      for (std::size_t slot = 0; slot < durations.buckets.size(); ++slot)
        durations.buckets[slot] = __atomic_load_n(&times.buckets[slot], __ATOMIC_RELAXED);
    }
    if (const std::uint64_t other = __atomic_load_n(&series.other_results, __ATOMIC_RELAXED))
      sample.failures["(other)"] = sample.results["(other)"] = other;
    by_series[i] = {samples.size(), &description};
    samples.push_back(std::move(sample));
  }
  const auto read = object_.maps().results.for_each(
      [&](const iocx_function_result_key& key, const iocx_function_result& result) {
        const auto found = by_series.find(key.series);
        if (found == by_series.end()) return;
        const auto& [sample, description] = found->second;
        if (!description->result) return;
        const std::string text = description->result->number_text(key.result);
        samples[sample].results[text] += result.calls;
        if (!description->succeeded(key.result)) samples[sample].failures[text] += result.calls;
      });
  if (!read) log::warn("{}", read.error().message());
  return samples;
}

std::vector<FunctionState> FunctionWatch::states() const {
  std::map<Place, FunctionState> all;
  std::vector<FunctionState> states;
  for (const auto& [id, life] : lives_)
    for (const FileInIoc& file : life.files) {
      for (const DescribedFunction& found : file.file->functions) {
        const Place place{file.file->code->id(), found.code.file_offset};
        FunctionState& state = all[place];
        const std::string& name = (*descriptions_)[found.description].name;
        if (state.name.find(name) == std::string::npos)
          state.name += (state.name.empty() ? "" : ", ") + name;
        state.file = file.file->path;
        state.symbol = found.symbol;
        ++state.iocs;
        const auto failed = failed_.find(place);
        state.state = attached_.contains(place) ? "counted"
                      : failed != failed_.end() ? failed->second
                      : off_.contains(place)    ? "off: above --overhead.budget"
                                                : "off: an IOC on the file is left alone";
      }
    }
  for (const auto& [id, life] : lives_)
    std::ranges::move(problems_of(life), std::back_inserter(states));
  for (auto& [place, state] : all) states.push_back(std::move(state));
  std::ranges::sort(states, {}, [](const FunctionState& state) {
    return std::tie(state.name, state.file, state.symbol, state.state);
  });
  const auto same = [](const FunctionState& a, const FunctionState& b) {
    return std::tie(a.name, a.file, a.symbol, a.state) ==
           std::tie(b.name, b.file, b.symbol, b.state);
  };
  states.erase(std::unique(states.begin(), states.end(), same), states.end());
  return states;
}

std::uint64_t FunctionWatch::attachments() const {
  std::uint64_t count = 0;
  for (const auto& [place, one] : attached_) count += 1 + one.probe.at_ends.size();
  return count;
}

std::uint64_t FunctionWatch::series() const {
  std::uint64_t count = 0;
  for (std::uint32_t i = 1; i < FunctionsObject::kSeries; ++i)
    count += __atomic_load_n(&object_.series()[i].used, __ATOMIC_RELAXED) != 0;
  return count;
}

}  // namespace ioc_exporter::functions
