#include "iocs/families.h"

#include <algorithm>

#include "exposition/family_table.h"
#include "exposition/limited_series.h"
#include "exposition/number_text.h"

namespace ioc_exporter::iocs {
namespace {

using exposition::counter;
using exposition::FamilyRow;
using exposition::gauge;
using exposition::Series;
using exposition::when;
using Iocs = std::vector<const IocFacts*>;

// By ThreadClass.
constexpr std::array<std::string_view, kThreadClasses> kClassNames{"scan", "callback", "once", "ca",
                                                                   "pva",  "main",     "other"};

void add_info(const IocFacts& ioc, Series& to) {
  if (!ioc.up) return;
  const std::string pid = std::to_string(ioc.pid);
  const std::string port = ioc.ca_port ? std::to_string(*ioc.ca_port) : std::string();
  to.add({{"kind", ioc.base        ? "base"
                   : ioc.gateway   ? "gateway"
                   : ioc.other_pva ? "pva_server"
                                   : "ca_server"},
          {"pid", pid},
          {"user", ioc.user},
          {"base_version", ioc.base_version},
          {"executable", ioc.executable},
          {"directory", ioc.directory},
          {"ca_port", port},
          {"supervisor", ioc.supervisor.name}},
         1);
}

void add_contested(const IocFacts& ioc, Series& to) {
  if (ioc.up && !ioc.contested_with.empty())
    to.add({{"user", ioc.user},
            {"claimed_name", ioc.claimed_name},
            {"claimed_from", ioc.contested_with}},
           1);
}

void add_last_exit(const IocFacts& ioc, Series& to) {
  if (const auto& exit = ioc.last_exit)
    to.add({{"reason", exit->reason}, {"status", exit->status}, {"signal", exit->signal}}, 1);
}

void add_record_counts(const IocFacts& ioc, Series& to) {
  if (!ioc.up || !ioc.database) return;
  std::vector<std::uint64_t> counts = ioc.database->type_totals;
  counts.resize(ioc.database->types.size());
  if (ioc.database->type_totals.empty())
    for (const RecordIdentity& record : ioc.database->records)
      if (record.type < counts.size()) ++counts[record.type];
  for (std::size_t type = 0; type < counts.size(); ++type)
    to.add({{"record_type", ioc.database->types[type]}}, when(counts[type] > 0, counts[type]));
}

void add_cpu(const IocFacts& ioc, Series& to) {
  const auto add = [&](std::string_view thread_class, std::uint64_t ns) {
    to.add({{"thread_class", thread_class}}, exposition::seconds_from_ns(ns));
  };
  for (std::size_t i = 0; i < kThreadClasses; ++i) add(kClassNames[i], ioc.health->cpu_ns[i]);
  add("ended", ioc.health->ended_cpu_ns);
}

void add_threads(const IocFacts& ioc, Series& to) {
  for (std::size_t i = 0; i < kThreadClasses; ++i)
    to.add({{"thread_class", kClassNames[i]}}, ioc.health->threads[i]);
}

constexpr FamilyRow<IocFacts> kFamilies[] = {
    {gauge("epics_ioc_info",
           "An IOC that runs on this host: its kind, process id, user who started it, EPICS Base "
           "version, executable, directory, TCP port of its Channel Access server, and what starts "
           "it again: procServ, systemd or container (empty: not known). Always 1."),
     add_info},
    {gauge("epics_ioc_name_contested",
           "An IOC that claims the name of another IOC, or of a former IOC of another user. Always "
           "1."),
     add_contested},
    {gauge("epics_ioc_up",
           "1: the IOC runs. 0: it has ended; shown for the time of --ioc.keep-gone."),
     [](const IocFacts& ioc, Series& to) { to.add(ioc.up); }},
    {gauge("epics_ioc_last_exit_info",
           "How the IOC of this name ended the last time: exit with a status, signal, or core_dump "
           "(a signal, and a core was written). Always 1."),
     add_last_exit},
    {gauge("epics_ioc_start_time_seconds",
           "When the IOC's process started, in seconds since 1970."),
     [](const IocFacts& ioc, Series& to) { to.add(when(ioc.up, ioc.start_time_seconds)); }},
    {gauge("epics_ioc_records",
           "Records in the IOC's database by record type, aliases not "
           "counted."),
     add_record_counts},
};

// Of IOCs with `health`.
constexpr FamilyRow<IocFacts> kHealth[] = {
    {counter("epics_ioc_process_cpu_seconds_total",
             "CPU time of the IOC's process since its start, user and system."),
     [](const IocFacts& ioc, Series& to) {
       to.add({}, exposition::seconds_from_ns(ioc.health->process_cpu_ns), ioc.start_time_seconds);
     }},
    {counter("epics_ioc_cpu_seconds_total",
             "CPU time of the IOC's process since the exporter first saw it, user and system, by "
             "class of thread; ended: threads that ended before their class was known."),
     add_cpu},
    {gauge("epics_ioc_threads", "Threads of the IOC's process by class."), add_threads},
    {gauge("epics_ioc_threads_spinning",
           "Threads of the IOC that ran, or waited for a CPU, for over 90 % of the time since they "
           "were last read."),
     [](const IocFacts& ioc, Series& to) { to.add(ioc.health->spinning); }},
    {gauge("epics_ioc_resident_memory_bytes", "Resident memory of the IOC's process."),
     [](const IocFacts& ioc, Series& to) { to.add(ioc.health->resident_bytes); }},
    {gauge("epics_ioc_open_fds", "Open file descriptors of the IOC's process."),
     [](const IocFacts& ioc, Series& to) { to.add(ioc.health->open_fds); }},
    {gauge("epics_ioc_max_fds", "Limit of the IOC's process for open file descriptors."),
     [](const IocFacts& ioc, Series& to) { to.add(ioc.health->max_fds); }},
};

constexpr FamilyRow<IocFacts> kRestarts[] = {
    {counter("epics_ioc_restarts_total", "Starts of an IOC of this name after an end."),
     [](const IocFacts& ioc, Series& to) { to.add(when(!ioc.only_up, ioc.restarts)); }},
};

constexpr FamilyRow<std::string> kExpected[] = {
    {gauge("epics_ioc_expected",
           "An IOC that the site expects on this host, whether it runs or not. Always 1."),
     [](const std::string&, Series& to) { to.add(1); }},
};

constexpr FamilyRow<std::uint64_t> kLeftOut[] = {
    {gauge("ioc_exporter_iocs_left_out",
           "IOCs that run and are not followed, because all places are taken."),
     [](const std::uint64_t& left_out, Series& to) { to.add(left_out); }},
};

}  // namespace

void encode_expected(const std::vector<std::string>& names, exposition::Encoder& encoder) {
  Series to(encoder);
  exposition::add_families(
      kExpected, names,
      [](const std::string& name) {
        return std::array{exposition::Label{"ioc", name}};
      },
      to);
}

void encode_left_out(std::uint64_t left_out, exposition::Encoder& encoder) {
  Series to(encoder);
  exposition::add_families(
      kLeftOut, std::span(&left_out, 1),
      [](std::uint64_t) { return std::array<exposition::Label, 0>{}; }, to);
}

void encode_iocs(const Iocs& iocs, exposition::Encoder& encoder) {
  Series to(encoder);
  const auto add = [&to](const auto& rows, const Iocs& of) {
    exposition::add_families(
        rows, of,
        [](const IocFacts& ioc) {
          return std::array{exposition::Label{"ioc", ioc.name}};
        },
        to);
  };
  add(kFamilies, iocs);
  Iocs with_health;
  std::ranges::copy_if(iocs, std::back_inserter(with_health),
                       [](const IocFacts* ioc) { return ioc->health.has_value(); });
  add(kHealth, with_health);
  add(kRestarts, iocs);
}

}  // namespace ioc_exporter::iocs
