#include "iocs/families.h"

#include <string>
#include <string_view>
#include <unordered_map>

#include "exposition/limited_series.h"

namespace ioc_exporter::iocs {
namespace {

constexpr exposition::Family kIocInfo{
    "epics_ioc_info", exposition::FamilyType::gauge,
    "An IOC that runs on this host: its kind, process id, user who started it, EPICS Base version, "
    "executable, directory and TCP port of its Channel Access server (empty: not known). Always "
    "1."};
constexpr exposition::Family kContested{
    "epics_ioc_name_contested", exposition::FamilyType::gauge,
    "An IOC that calls itself by the name that another one has, or that one of another user had "
    "before. Always 1."};
constexpr exposition::Family kLeftOut{
    "ioc_exporter_iocs_left_out", exposition::FamilyType::gauge,
    "IOCs that run and are not followed, since others have all the places, by user."};
constexpr exposition::Family kUp{
    "epics_ioc_up", exposition::FamilyType::gauge,
    "Whether the IOC runs: 1, or 0 after it has ended, for --ioc.keep-gone."};
constexpr exposition::Family kExpected{
    "epics_ioc_expected", exposition::FamilyType::gauge,
    "An IOC that the site expects on this host, whether it runs or not. Always 1."};
constexpr exposition::Family kLastExit{
    "epics_ioc_last_exit_info", exposition::FamilyType::gauge,
    "How the IOC of this name ended last: by exit, signal or core_dump (a signal, and a core was "
    "written), with its exit status or the signal. Always 1."};
constexpr exposition::Family kStart{"epics_ioc_start_time_seconds", exposition::FamilyType::gauge,
                                    "When the IOC's process started, in seconds since 1970."};
constexpr exposition::Family kRecords{
    "epics_ioc_records", exposition::FamilyType::gauge,
    "Records in the IOC's database by record type, aliases not counted."};

void encode_info(const IocFacts& ioc, exposition::Encoder& encoder) {
  const std::string pid = std::to_string(ioc.pid);
  const std::string port = ioc.ca_port ? std::to_string(*ioc.ca_port) : std::string();
  encoder.count(encoder.labels({{"ioc", ioc.name},
                                {"kind", ioc.base ? "base" : "ca_server"},
                                {"pid", pid},
                                {"user", ioc.user},
                                {"base_version", ioc.base_version},
                                {"executable", ioc.executable},
                                {"directory", ioc.directory},
                                {"ca_port", port}}),
                1);
}

void encode_record_counts(const IocFacts& ioc, exposition::Encoder& encoder) {
  if (!ioc.database) return;
  std::vector<std::uint64_t> counts = ioc.database->type_totals;
  counts.resize(ioc.database->types.size());
  if (ioc.database->type_totals.empty())
    for (const RecordIdentity& record : ioc.database->records)
      if (record.type < counts.size()) ++counts[record.type];
  for (std::size_t type = 0; type < counts.size(); ++type) {
    if (counts[type] == 0) continue;
    encoder.count(encoder.labels({{"ioc", ioc.name}, {"record_type", ioc.database->types[type]}}),
                  counts[type]);
  }
}

}  // namespace

void encode_expected(const std::vector<std::string>& names, exposition::Encoder& encoder) {
  encoder.begin_family(kExpected);
  for (const std::string& name : names) encoder.count(encoder.labels({{"ioc", name}}), 1);
}

void encode_left_out(const LeftOut& left_out, exposition::Encoder& encoder) {
  encoder.begin_family(kLeftOut);
  std::size_t users = 0;
  std::uint64_t others = 0;
  for (const auto& [user, count] : left_out.by_user) {
    if (users++ < LeftOut::kMostUsers)
      encoder.count(encoder.labels({{"user", user}}), count);
    else
      others += count;
  }
  if (users > LeftOut::kMostUsers || users == 0)
    encoder.count(encoder.labels({{"user", exposition::kOther}}), others);
}

void encode_iocs(const std::vector<const IocFacts*>& iocs, exposition::Encoder& encoder) {
  encoder.begin_family(kIocInfo);
  for (const IocFacts* ioc : iocs)
    if (ioc->up) encode_info(*ioc, encoder);
  encoder.begin_family(kContested);
  for (const IocFacts* ioc : iocs)
    if (ioc->up && !ioc->contested_with.empty())
      encoder.count(encoder.labels({{"ioc", ioc->name},
                                    {"user", ioc->user},
                                    {"claimed_name", ioc->claimed_name},
                                    {"claimed_from", ioc->contested_with}}),
                    1);
  encoder.begin_family(kUp);
  for (const IocFacts* ioc : iocs)
    encoder.count(encoder.labels({{"ioc", ioc->name}}), ioc->up ? 1 : 0);
  encoder.begin_family(kLastExit);
  for (const IocFacts* ioc : iocs)
    if (ioc->last_exit)
      encoder.count(encoder.labels({{"ioc", ioc->name},
                                    {"reason", ioc->last_exit->reason},
                                    {"status", ioc->last_exit->status},
                                    {"signal", ioc->last_exit->signal}}),
                    1);
  encoder.begin_family(kStart);
  for (const IocFacts* ioc : iocs)
    if (ioc->up) encoder.number(encoder.labels({{"ioc", ioc->name}}), ioc->start_time_seconds);
  encoder.begin_family(kRecords);
  for (const IocFacts* ioc : iocs)
    if (ioc->up) encode_record_counts(*ioc, encoder);
}

}  // namespace ioc_exporter::iocs
