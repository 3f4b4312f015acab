#include "functions/watch.h"

#include <algorithm>
#include <cmath>

#include "functions/sweep.h"

namespace ioc_exporter::functions {
namespace {

// The programs take as long as the trap at most for each description there, as they do in a busy
// IOC (bench/README.md). `beside`: other attachments there.
double seconds_of(const InstalledPlaces::Count& count, const kernel::HitCost& cost,
                  std::size_t beside) {
  return static_cast<double>(count.traps) *
             (cost.emulated + static_cast<double>(beside) * cost.beside) +
         static_cast<double>(count.stepped) * (cost.stepped - cost.emulated) +
         static_cast<double>(count.calls) * cost.emulated;
}

std::string percent_text(double share) {
  return std::to_string(std::lround(share * 100)) + " %";
}

}  // namespace

FunctionWatch::FunctionWatch(FunctionsObject& object,
                             std::shared_ptr<const Descriptions> descriptions,
                             probes::Budget& budget)
    : object_(object),
      descriptions_(descriptions),
      budget_(budget),
      series_(object, std::move(descriptions)),
      places_(object),
      engine_(probes::Attaching::by(object.attacher()), {}) {}

// Another one may use the object next: nothing is left in it.
FunctionWatch::~FunctionWatch() {
  engine_.take_off_all(hooks());
  static_cast<void>(places_.keep({}));
  follow({});
  keep({});
  clean_up();
}

void FunctionWatch::begin(Life& life, const WatchedIoc& ioc) {
  give_back(life);
  auto files = life.ioc.serial == ioc.serial ? std::move(life.files) : std::vector<FileInIoc>();
  life = {.ioc = ioc, .epoch = ++last_epoch_, .holder = iocx_holder_of(ioc.number)};
  life.files = std::move(files);
  begun_.insert(ioc.id);
  changed_ = true;
}

void FunctionWatch::give_back(const Life& life, const std::set<Place>& but) {
  for (const Place& place : life.held)
    if (!but.contains(place)) object_.maps().caps.give(IOCX_FUNCTION_HELD_PROBED, life.holder);
}

void FunctionWatch::follow(const std::vector<WatchedIoc>& iocs) {
  std::map<iocs::IocId, probes::IocState> there;
  for (const WatchedIoc& ioc : iocs) {
    there[ioc.id] = ioc.state;
    const auto [known, is_new] = lives_.try_emplace(ioc.id);
    Life& life = known->second;
    if (is_new || life.ioc.serial != ioc.serial || life.ioc.number != ioc.number) begin(life, ioc);
    changed_ |= life.ioc.state != ioc.state;
    life.ioc = ioc;
  }
  const auto ended = std::erase_if(lives_, [&](const auto& one) {
    if (there.contains(one.first)) return false;
    give_back(one.second);
    return true;
  });
  changed_ |= ended > 0;
  engine_.follow(std::move(there));
}

void FunctionWatch::take(const iocs::IocId& id, std::uint64_t serial, FunctionsFound found) {
  const auto life = lives_.find(id);
  if (life == lives_.end() || life->second.ioc.serial != serial) return;
  // A file that could not be read this time is as it was.
  for (const FileProblem& unread : found.unread)
    for (FileInIoc& before : life->second.files)
      if (before.mapped == unread.mapped && !before.code.empty())
        found.files.push_back(std::move(before));
  life->second.files = std::move(found.files);
  life->second.unread = std::move(found.unread);
  if (found.files_over > life->second.files_over)
    refused_ += found.files_over - life->second.files_over;
  life->second.files_over = found.files_over;
  for (const std::string& problem : found.problems)
    lines_.warn("ioc " + life->second.ioc.name + ": function " + problem);
  for (const FunctionState& state : problems_of(life->second))
    lines_.warn("function " + state.name + " in " + state.file + ": " + state.state);
  changed_ = true;
}

std::map<pid_t, std::vector<PointerSeen>> FunctionWatch::pointers() {
  if (!begun_.empty()) clean_up();
  std::map<std::uint32_t, std::set<std::pair<std::uint64_t, std::uint32_t>>> seen;
  const auto read =
      object_.maps().pointers.for_each([&](const iocx_function_pointer_key& key, std::uint32_t) {
        seen[key.tgid].emplace(key.address, key.function);
      });
  trouble_.report("read pointers to functions", read);
  std::map<pid_t, std::vector<PointerSeen>> all;
  for (auto& [id, life] : lives_) {
    std::set<std::uint64_t> over;
    for (const auto& [address, function] : seen[static_cast<std::uint32_t>(id.pid)]) {
      const Description* const of = series_.description(function);
      if (of == nullptr) continue;
      // Those that came first stay.
      if (life.pointers.size() < kMostPointers) life.pointers.insert(address);
      if (!life.pointers.contains(address)) {
        over.insert(address);
        continue;
      }
      for (std::uint32_t i = 0; i < descriptions_->size(); ++i)
        if ((*descriptions_)[i].symbol.of == of->name) all[id.pid].push_back({address, i});
    }
    if (over.size() <= life.pointers_over) continue;
    pointers_over_ += over.size() - std::exchange(life.pointers_over, over.size());
  }
  return all;
}

void FunctionWatch::tick(Clock::time_point now) {
  const auto decisions = budget_.take_decisions({probes::Owner::functions});
  changed_ |= !decisions.empty();
  if (std::exchange(changed_, false)) {
    engine_.want(plan());
    has_counted_ = true;
  }
  for (const probes::Budget::Decision& decision : decisions) report(decision);
  has_counted_ |= engine_.is_due(now);
  engine_.tick(hooks(), now);
  if (std::exchange(has_counted_, false)) note_counted();
  report_costs();
  if (now >= next_sweep_) {
    next_sweep_ = now + kSweep;
    clean_up();
  }
}

// Counted once, for as long as it lasts.
void FunctionWatch::refuse(Life& life, const Place& place) {
  if (life.refused.insert(place).second && !life.refused_before.contains(place)) ++refused_;
}

// Those of its functions that there is room for.
FunctionWatch::Owns FunctionWatch::owns_of(Life& life) {
  const kernel::Caps& caps = object_.maps().caps;
  Owns owns;
  std::set<Place> there;
  life.refused_before = std::exchange(life.refused, {});
  for (const FileInIoc& file : life.files)
    for (const DescribedFunction& found : file.file->functions) {
      const Place place = engine_.place_of(file.file->code, found.code.file_offset);
      there.insert(place);
      if (!life.held.contains(place)) {
        if (!caps.take(IOCX_FUNCTION_HELD_PROBED, life.holder)) {
          refuse(life, place);
          continue;
        }
        life.held.insert(place);
      }
      const auto numbers = series_.of(life.ioc.number, found);
      if (!numbers) {
        refuse(life, place);
        continue;
      }
      Own& own = owns[place];
      if (own.first == nullptr) own = {&file, &found};
      const Description& description = (*descriptions_)[found.description];
      own.has_symbol |= description.symbol.kind != Symbol::Kind::pointer;
      own.take(found.ending, description.result && description.result->from_return());
      if (own.has(*numbers)) continue;
      if (own.functions.size() < IOCX_FUNCTION_AT_ONCE)
        own.functions.push_back(*numbers);
      else
        lines_.warn("function " + description.name +
                    ": four others describe the same function, too");
    }
  give_back(life, there);
  std::erase_if(life.held, [&](const Place& place) { return !there.contains(place); });
  return owns;
}

const FunctionWatch::Own* FunctionWatch::own(const iocs::IocId& id, const Place& place) const {
  const auto all = owns_.find(id);
  if (all == owns_.end()) return nullptr;
  const auto one = all->second.find(place);
  return one == all->second.end() ? nullptr : &one->second;
}

// IOCs with the same function have the same program there: it may have one attachment for all. A
// place has its room in the map before it is attached: without room nothing is put into the IOC.
std::vector<probes::ProbeRow> FunctionWatch::plan() {
  owns_.clear();
  shared_.clear();
  std::set<std::pair<std::int32_t, Place>> wanted;
  for (auto& [id, life] : lives_) {
    const Owns& owns = owns_[id] = owns_of(life);
    for (const auto& [place, own] : owns) {
      Own& shared = shared_.try_emplace(place, own).first->second;
      shared.has_symbol |= own.has_symbol;
      shared.take(own.ending, own.with_result);
      if (life.ioc.state.left_alone.empty() &&
          state_in_budget(id, place) != probes::Budget::State::off)
        wanted.emplace(id.pid, place);
    }
    keep_spent(life, owns);
  }
  Result<void> all = places_.keep(wanted);
  std::vector<probes::ProbeRow> rows;
  for (const auto& [id, life] : lives_)
    for (const auto& [place, own] : owns_.at(id)) {
      rows.push_back(row_of(life, place, own));
      if (!wanted.contains({id.pid, place})) continue;
      const auto done = install(life, place, engine_.counted_by({id, place}));
      if (!done)
        all = done.error();
      else if (*done == InstalledPlaces::Outcome::no_room)
        rows.back().off = probes::kNoRoom;
    }
  trouble_.report("note where functions are", all);
  return rows;
}

// Of the functions that it has.
void FunctionWatch::keep_spent(Life& life, const Owns& owns) {
  for (const auto& [place, own] : owns) life.spent.try_emplace(place);
  std::erase_if(life.spent, [&](const auto& one) {
    if (owns.contains(one.first)) return false;
    life.spent_before += one.second;
    return true;
  });
}

probes::ProbeRow FunctionWatch::row_of(const Life& life, const Place& place, const Own& own) const {
  const Own& shared = shared_.at(place);
  const bool is_off = state_in_budget(life.ioc.id, place) == probes::Budget::State::off;
  return {
      .ioc = life.ioc.id,
      .program = FunctionsObject::kPlain,
      .file = own.file->file->code,
      .path = own.file->file->path,
      .name = (*descriptions_)[own.first->description].name,
      .offset = place.offset,
      .ending = shared.ending,
      .ends_program = shared.with_result ? FunctionsObject::kWithResult : FunctionsObject::kPlain,
      .only_in_process = !shared.has_symbol,
      .off = is_off ? "off: above --overhead.budget" : ""};
}

probes::Hooks FunctionWatch::hooks() {
  return {
      [this](const probes::Member& member, unsigned attach) { return count_by(member, attach); },
      [this](const probes::Member&, const Error& error) { lines_.warn(error.message()); }};
}

// After a time without probes a new epoch begins: the ends of calls from before were not seen.
Result<probes::Switched> FunctionWatch::count_by(const probes::Member& member, unsigned attach) {
  has_counted_ = true;
  const auto found = lives_.find(member.ioc);
  if (attach == 0) {
    if (found != lives_.end()) found->second.has_gap = true;
    auto removed = places_.remove(member.ioc.pid, *member.place);
    return removed ? Result<probes::Switched>(probes::Switched::now) : removed.error();
  }
  Life& life = found->second;
  if (engine_.counted_by(member) == 0 && std::exchange(life.has_gap, false)) {
    life.epoch = ++last_epoch_;
    install_all(life);
  }
  const auto done = install(life, *member.place, attach);
  if (!done) return done.error();
  if (*done == InstalledPlaces::Outcome::installed) return probes::Switched::now;
  changed_ = true;  // the plan leaves it out
  return error_in_words(probes::kNoRoom);
}

// With `attach` 0 it takes its room in the map, and counts nothing.
Result<InstalledPlaces::Outcome> FunctionWatch::install(const Life& life, const Place& place,
                                                        unsigned attach) {
  const Own* const there = own(life.ioc.id, place);
  auto done =
      places_.set(life.ioc.id.pid, place, places_of(life, place, *there, attach), life.holder);
  // After a switch that failed the former attachment goes on counting: it is still there.
  if (!done && engine_.counted_by({life.ioc.id, place}) == 0)
    static_cast<void>(places_.remove(life.ioc.id.pid, place));
  return done;
}

// Writes all installed places of the IOC again, with its new epoch.
void FunctionWatch::install_all(const Life& life) {
  Result<void> all;
  for (const auto& [place, own] : owns_[life.ioc.id])
    if (places_.has(life.ioc.id.pid, place))
      if (const auto done = install(life, place, engine_.counted_by({life.ioc.id, place})); !done)
        all = done.error();
  trouble_.report("note where functions are", all);
}

InstalledPlaces::Places FunctionWatch::places_of(const Life& life, const Place& place,
                                                 const Own& own, unsigned attach) const {
  InstalledPlaces::Places made;
  const auto add = [&](std::uint64_t offset, bool stepped, std::uint32_t which,
                       iocx_function_place value) {
    for (const MappedCode& code : own.file->code) {
      if (offset < code.offset || offset - code.offset >= code.end - code.start) continue;
      const iocx_function_place_key key{code.start + (offset - code.offset),
                                        static_cast<std::uint32_t>(life.ioc.id.pid), which};
      made[key] = {value, stepped};
    }
  };
  const elf::FunctionEntry entry = own.file->file->code->entry(place.offset);
  const elf::EndingFunction* const ending = shared_.at(place).ending.get();
  std::vector<iocx_function_place> entries, ends;
  for (const FunctionSeries::Numbers& numbers : own.functions) {
    iocx_function_place value{};
    value.function = numbers.function;
    value.ioc = life.ioc.number;
    value.series = numbers.series;
    value.epoch = life.epoch;
    value.holder = life.holder;
    value.attach = static_cast<std::uint8_t>(attach);
    entries.push_back(value);
    if (series_.has_ends(numbers.function) && ending != nullptr) ends.push_back(value);
  }
  for (std::uint32_t i = 0; i < entries.size(); ++i) {
    entries[i].more = i + 1 < entries.size();
    add(entry.offset, entry.stepped, IOCX_FUNCTION_WHICH(i, 0), entries[i]);
  }
  for (std::uint32_t i = 0; i < ends.size(); ++i)
    for (const elf::FunctionEnd& end : ending->ends()) {
      ends[i].more = i + 1 < ends.size();
      ends[i].below = end.below;
      ends[i].condition = end.condition;
      add(end.offset, end.stepped, IOCX_FUNCTION_WHICH(i, 1), ends[i]);
    }
  return made;
}

void FunctionWatch::note_counted() {
  counted_.clear();
  suspended_.clear();
  for (auto& [id, life] : lives_)
    for (const FileInIoc& file : life.files)
      for (const DescribedFunction& found : file.file->functions) {
        const Place place = place_of(file, found);
        const auto numbers = series_.known(life.ioc.number, found);
        const Own* const there = own(id, place);
        const bool is_on = numbers && there && there->has(*numbers) &&
                           engine_.counted_by({id, place}) != 0 &&
                           state_in_budget(id, place) == probes::Budget::State::on;
        if (engine_.why_not({id, place}) == probes::kNoRoom) refuse(life, place);
        const auto [known, is_new] =
            counted_.try_emplace({life.ioc.number, found.description}, true);
        known->second = known->second && is_on;
        if (numbers && !is_on) suspended_.emplace(life.ioc.number, numbers->function);
      }
}

// Not of an IOC whose function is on trial, but is not there.
void FunctionWatch::report_costs() {
  InstalledPlaces::Hits hits;
  const auto read = places_.take_hits(hits);
  trouble_.report("read what functions cost", read);
  for (auto& [id, life] : lives_) {
    if (const auto own = hits.find(id.pid); own != hits.end())
      for (const auto& [place, count] : own->second)
        life.spent[place] += seconds_of(count, cost_, engine_.beside({id, place}));
    const auto tried = budget_.on_trial(id);
    const bool is_away = tried && tried->owner == probes::Owner::functions &&
                         engine_.counted_by({id, tried->function}) == 0;
    if (read && !is_away && life.ioc.state.left_alone.empty())
      budget_.report(id, probes::Owner::functions, life.spent);
  }
}

// By what was planned since: an IOC that has ended, or a function that is gone, has none.
void FunctionWatch::report(const probes::Budget::Decision& decision) {
  const Own* const of = own(decision.ioc, decision.part.function);
  if (of == nullptr) return;
  const std::string name =
      (*descriptions_)[of->first->description].name + " in " + of->file->file->path;
  const std::string& ioc = lives_.at(decision.ioc).ioc.name;
  if (decision.state == probes::Budget::State::on)
    lines_.warn("function " + name + " is counted again in ioc " + ioc);
  else if (decision.state == probes::Budget::State::off && !decision.was_tried)
    lines_.warn("function " + name + " is not counted in ioc " + ioc +
                " until the load has fallen: probes cost " + percent_text(decision.load) +
                " of a core, more than --overhead.budget, and this one " +
                percent_text(decision.own));
}

void FunctionWatch::clean_up() {
  std::set<std::uint32_t> processes, epochs;
  for (const auto& [id, life] : lives_) {
    if (!begun_.contains(id)) processes.insert(static_cast<std::uint32_t>(id.pid));
    epochs.insert(life.epoch);
  }
  begun_.clear();
  trouble_.report("free what ended IOCs have left of functions",
                  sweep(object_.maps(), processes, epochs));
}

}  // namespace ioc_exporter::functions
