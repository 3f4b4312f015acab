#include "records/probe/probe_points.h"

#include "iocs/find/inspector.h"

namespace ioc_exporter::records {
namespace {

// struct processNotify (dbNotify.h) since Base 3.15.0.1: the dbChannel *, which has its DBADDR
// after one pointer (dbChannel.h).
constexpr std::uint16_t kNotifyChannel = 48, kChannelAddress = 8;
// struct putNotify before: the DBADDR *.
constexpr std::uint16_t kPutNotifyAddress = 32;

class Planner {
 public:
  Planner(const iocs::ProbeTarget& target, const iocs::FieldOffsets& offsets, bool durations,
          bool traces)
      : target_(target), durations_(durations), traces_(traces) {
    points_.puts.ppn = offsets.ppn;
    points_.puts.disp = offsets.disp;
  }

  void plan_process() {
    points_.process =
        ending("dbProcess", elf::Work::indirect_call, "processings are counted without durations");
  }

  void plan_puts() {
    const elf::CodeRange* const put = find("dbPut");
    if (put == nullptr) return note("writes to records are not counted", "dbPut");
    if (find("dbPut.part.0") != nullptr)
      points_.notes.push_back("some writes to records are not counted: in " + target_.display_path +
                              " a part of dbPut is called on its own");
    else
      points_.all_writes = true;
    probe(RecordProgram::put, *put);
    plan_links(*put);
    plan_link_fields();
    plan_notifies();
    plan_inside(RecordProgram::put_inside, iocs::kInsideWrite);
    plan_inside(RecordProgram::notify_inside, iocs::kInsideWriteNotify);
    if (const auto* const shell = find("dbpf"))
      points_.extras.push_back(
          {RecordProgram::shell, shell->file_offset, ending("dbpf", elf::Work::nothing, nullptr)});
    else
      note("writes by dbpf are counted as `other`", "dbpf");
  }

  // Static in dbScan.c.
  void plan_scans() {
    constexpr const char* kNotTimed = "periodic scan lists are not timed";
    if (const auto* const sized = find_sized("scanList"))
      points_.scan_list = *sized;
    else
      note("events and I/O interrupts are counted as `callback`", "scanList");
    if (!durations_) return;
    const auto* const scan = find("scanList");
    if (scan == nullptr) return note(kNotTimed, "scanList");
    if (auto end = ending("scanList", elf::Work::call, kNotTimed))
      points_.extras.push_back({RecordProgram::scan_list, scan->file_offset, std::move(end)});
  }

  void plan_links_to_others() {
    const auto* const put = find("dbCaPutLinkCallback");
    if (put == nullptr)
      return note("traces do not show puts through Channel Access links", "dbCaPutLinkCallback");
    probe(RecordProgram::link_put, *put);
    if (const auto* const step = find("dbPutLink"))
      probe(RecordProgram::link_step, *step);
    else
      note("traces do not show steps of sequences as such", "dbPutLink");
  }

  RecordPoints take() {
    std::string stepped;
    for (const auto& [name, code] : target_.functions)
      if (is_probed(code) && target_.file->entry(code.file_offset).stepped)
        stepped += (stepped.empty() ? "" : ", ") + name;
    if (!stepped.empty())
      points_.notes.push_back("single-stepped, so that each hit takes longer: " + stepped + " in " +
                              target_.display_path);
    return std::move(points_);
  }

 private:
  const elf::CodeRange* find(const char* function) const {
    const auto found = target_.functions.find(function);
    return found == target_.functions.end() ? nullptr : &found->second;
  }
  const elf::CodeRange* find_sized(const char* function) const {
    const elf::CodeRange* const found = find(function);
    return found != nullptr && found->size != 0 ? found : nullptr;
  }
  bool is_probed(const elf::CodeRange& function) const {
    return function.file_offset == target_.offset ||
           std::ranges::find(points_.extras, function.file_offset, &ProbePoint::offset) !=
               points_.extras.end();
  }
  // PT_REGS_IP of its program, relative to which the programs know their callers.
  std::uint64_t probed_at(const elf::CodeRange& function) const {
    return target_.file->entry(function.file_offset).offset;
  }
  void probe(RecordProgram program, const elf::CodeRange& function) {
    points_.extras.push_back({program, function.file_offset});
  }
  // Where the function ends, when that is to be seen by breakpoints there. `without`: what it means
  // that it cannot; null: nothing that is worth a word.
  std::shared_ptr<const elf::EndingFunction> ending(const std::string& name, elf::Work work,
                                                    const char* without,
                                                    elf::Places places = elf::Places::cheap) {
    if (!durations_) return nullptr;
    auto found = elf::EndingFunction::find(*target_.file, target_.functions, name, work, places);
    if (found) return std::move(*found);
    if (without != nullptr)
      points_.notes.push_back(std::string(without) + ": find where " + name + " ends in " +
                              target_.display_path + ": " + found.error().message());
    return nullptr;
  }
  void note(const char* what, const char* function) {
    points_.notes.push_back(std::string(what) + ": " + target_.display_path + " does not name " +
                            function);
  }

  // Callers of dbPut for a link: dbDbPutValue (dbDbLink.c, static; dbLink.c in 3.15), in 3.14
  // dbPutLinkValue. A stripped library has neither; then dbPutLink, which leads to it, is watched.
  void plan_links(const elf::CodeRange& put) {
    const auto* caller = find_sized("dbDbPutValue");
    if (caller == nullptr) caller = find_sized("dbPutLinkValue");
    if (caller != nullptr) {
      points_.puts.link_from = caller->file_offset - probed_at(put);
      points_.puts.link_size = static_cast<std::uint32_t>(caller->size);
    } else if (const auto* const link = find("dbPutLink")) {
      probe(RecordProgram::put_link, *link);
    } else {
      note("writes by links are counted as `other`", "dbDbPutValue or dbPutLink");
    }
  }

  // Since 3.16 dbPutField asks dbCanSetLink, which distinguishes these writes at no cost to
  // them. (dbPutFieldLink, which asks, mostly is a part of dbPutField.)
  void plan_link_fields() {
    const auto* const field = find_sized("dbPutField");
    const auto* const asked = find("dbCanSetLink");
    if (field == nullptr) return note("writes to link fields are not counted", "dbPutField");
    if (asked == nullptr) return probe(RecordProgram::put_field, *field);
    points_.puts.field_from = field->file_offset - probed_at(*asked);
    points_.puts.field_size = static_cast<std::uint32_t>(field->size);
    if (const auto* const apart = find_sized("dbPutFieldLink")) {
      points_.puts.field_link_from = apart->file_offset - probed_at(*asked);
      points_.puts.field_link_size = static_cast<std::uint32_t>(apart->size);
    }
    probe(RecordProgram::put_link_field, *asked);
  }

  void plan_notifies() {
    if (const auto* const notify = find("dbProcessNotify")) {
      points_.puts.notify_address = kNotifyChannel;
      points_.puts.address_in = kChannelAddress;
      probe(RecordProgram::notify, *notify);
    } else if (const auto* const before = find("dbPutNotify")) {
      points_.puts.notify_address = kPutNotifyAddress;
      probe(RecordProgram::notify, *before);
    } else {
      note("writes with callback to busy records are counted as `other`", "dbProcessNotify");
    }
  }

  void plan_inside(RecordProgram program, const char* write) {
    const auto* const inside = find(write);
    if (inside == nullptr)
      return note("writes of clients in the IOC itself are counted as `other`", write);
    auto end =
        traces_ ? ending(write, elf::Work::nothing,
                         "traces do not show writes of clients in the IOC itself", elf::Places::any)
                : nullptr;
    points_.extras.push_back({program, inside->file_offset, std::move(end)});
  }

  const iocs::ProbeTarget& target_;
  bool durations_, traces_;
  RecordPoints points_;
};

}  // namespace

RecordPoints record_points(const iocs::ProbeTarget& target, const iocs::FieldOffsets& offsets,
                           bool puts, bool durations, bool traces) {
  Planner planner(target, offsets, durations, traces);
  planner.plan_process();
  if (puts) planner.plan_puts();
  planner.plan_scans();
  if (traces) planner.plan_links_to_others();
  return planner.take();
}

std::optional<ProbePoint> completion_point(const iocs::ProbeTarget& target) {
  const auto found = target.functions.find("recGblFwdLink");
  if (found == target.functions.end()) return std::nullopt;
  return ProbePoint{RecordProgram::completion, found->second.file_offset};
}

}  // namespace ioc_exporter::records
