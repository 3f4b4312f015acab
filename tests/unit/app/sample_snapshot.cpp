#include "sample_snapshot.h"

namespace ioc_exporter::app {
namespace {

std::shared_ptr<const Database> sample_database() {
  auto database = std::make_shared<Database>();
  database->types = {"ao", "calc", "waveform"};
  database->records = {
      {0x1000, "PS:Q1:SetCur", 0}, {0x2000, "PS:Q1:Calc", 1}, {0x3000, "PS:Q2:SetCur", 0}};
  return database;
}

std::shared_ptr<const IocMemorySample> sample_memory() {
  auto memory = std::make_shared<IocMemorySample>();
  // The second as before Base 3.14.12.4, the second queue as before 3.16.2.
  memory->scan_lists = {{"0.1", 23, 5}, {"10", 7, {}}};
  memory->queues = {{"low", 3, 2000, 17, 2}, {"once", 1, 1000, {}, {}}};
  memory->suspended_threads = {"cbLow"};
  memory->records = {1790000400.5, {1, 0, 2, 0}, 2, 1, {{0, 61.5}}, {}, 2, {1}};
  memory->ca_links = CaLinksSample{9, 1, 4, 17, {{1, "INPA", "VAC:Pressure", 1790000300.5, true}}};
  return memory;
}

IocSample power_supplies() {
  IocSample ioc;
  ioc.name = "power-supplies";
  ioc.up = true;
  ioc.pid = 812;
  ioc.start_time_seconds = 1790000000.25;
  ioc.base_version = "7.0.8.1";
  ioc.executable = "/opt/ioc/bin/ps";
  ioc.directory = "/opt/ioc/iocBoot/ps";
  ioc.user = "epics";
  ioc.ca_port = 5064;
  ioc.supervisor.name = "procServ";
  ioc.records_watched = true;
  ioc.restarts = 3;
  ioc.last_exit = iocs::IocExit{"core_dump", "", "SIGSEGV"};
  ioc.health = {40'000'000'000,
                {{2'000'000'000, 250'000'000, 0, 1'500'000'000, 0, 31'000'000, 7'000'000}},
                125'000'000,
                {{7, 3, 1, 11, 0, 1, 5}},
                1,
                53 << 20,
                43,
                1024};
  ioc.database = sample_database();
  ioc.memory = sample_memory();

  RecordSample set;
  set.record = 0;
  set.sum_ns = 23'000'500;
  set.self_ns = 12'000'000;
  set.processed = 24;
  set.skipped_active = 2;
  set.unwound = 1;
  set.puts = {23, 5, 0, 2, 1};
  set.buckets[slot_of(-40)] = 20;        // up to 2^-10 s
  set.buckets[slot_of(-39)] = 2;         // just above it
  set.buckets[kHistogramSlots - 1] = 1;  // above 4 s
  RecordSample calc;
  calc.record = 1;
  calc.skipped_disabled = 7;  // never processed
  RecordSample nameless;
  nameless.processed = 1;
  nameless.sum_ns = 500;
  nameless.self_ns = 500;
  nameless.buckets[0] = 1;
  ioc.records = {set, calc, nameless, nameless};
  ScanTimeSample scan;
  scan.period = "0.1";
  scan.period_seconds = 0.1;
  scan.last_time_seconds = 1790000400.5;
  scan.age_seconds = 0.0625;
  scan.sum_ns = 29'000'000;
  scan.buckets[exposition::kPutScale.slot(-40)] = 29;
  ioc.scan_times = {scan};
  CompletionSample completion;
  completion.record = 0;
  completion.sum_ns = 3'100'000'000;
  completion.buckets[exposition::kPutScale.slot(0)] = 2;
  completion.buckets[kPutHistogramSlots - 1] = 1;
  ioc.completions = {completion};
  ioc.processing =
      ProcessingSample{{{"link", 7}, {"scan_0.1", 19}}, {{"scan-0.1", 19}}, 5, {4, 3, 2, 1}};
  ioc.direct_since_seconds = 1'700'000'003;
  ioc.record_causes = {{0, "link", 5}, {0, "scan_0.1", 19}, {RecordSample::kUnknown, "link", 2}};
  return ioc;
}

void add_channel_access(Snapshot& snapshot) {
  snapshot.puts = {{"power-supplies", "PS:Q1:SetCur", "10.0.0.7", "operator", "console1",
                    PutOp::write_notify, 23, 1790000200.125, 1790000100.5},
                   {"power-supplies", "PS:Q1:SetCur", "10.0.0.7", "operator", "console1",
                    PutOp::write, 5, 1790000300.25},
                   {"power-supplies", "PS:Q1:SetCur", "10.0.0.7", "operator", "console1",
                    PutOp::write, 6, 1790000250.5, 1790000200},
                   {"power-supplies", "", "10.0.0.8", "", "", PutOp::write, 1}};
  snapshot.put_failures = {
      {"power-supplies", "PS:Q1:SetCur", "10.0.0.9", "guest", "laptop", "no_write_access", 23,
       1790000150},
      {"power-supplies", "PS:Q1:SetCur", "10.0.0.7", "operator", "console1", "put_failed", 2},
      {"power-supplies", "PS:Q1:SetCur", "10.0.0.7", "operator", "console1", "put_failed", 3}};
  PutDurationSample duration{"power-supplies", "PS:Q1:SetCur", 2'500'000'500, {}};
  duration.buckets[exposition::kPutScale.slot(-56)] = 20;  // up to 2^-14 s
  duration.buckets[exposition::kPutScale.slot(-55)] = 2;   // just above it
  duration.buckets[kPutHistogramSlots - 1] = 1;            // above 2^10 s
  snapshot.put_durations = {duration};
  snapshot.pva.puts = {{"power-supplies", "PS:Q1:SetCur", "10.0.0.7", "operator", "10.0.0.7",
                        PutOp::write, 41, 1790000240.5, 1790000100.25},
                       {"power-supplies", "", "", "", "", PutOp::write, 3}};
  snapshot.pva.put_failures = {{"power-supplies", "PS:Q1:SetCur", "10.0.0.7", "operator",
                                "10.0.0.7", "no_write_access", 5, 1790000100.25}};
  functions::FunctionSample function{
      "power-supplies", "hid_driver", {{"port", "P1"}, {"device", ""}}, 41, {{"timeout", 7}}};
  function.durations.emplace().sum_ns = 41'000'000;
  function.durations->buckets[40] = 41;
  snapshot.functions = {function};
  snapshot.functions_watched = {{"power-supplies", "hid_driver", true}};
  snapshot.unexpected_puts = {
      {"power-supplies", "PS:Q1:SetCur", "10.0.0.9", "guest", "laptop", "quads", "forbidden", 7,
       1790000290.5, 1790000280},
      {"power-supplies", "", "10.0.0.8", "", "", "default", "unexpected", 2, 1790000291, 0},
      {"power-supplies", "PS:Q1:SetCur", "10.0.0.7", "operator", "10.0.0.7", "default",
       "unexpected", 41, 1790000240.5, 0, true}};
  snapshot.policy_rules = {
      {"quads", "forbidden", 7}, {"feedback", "expected", 23}, {"default", "unexpected", 42}};
  ServerSample server;
  server.ioc = "power-supplies";
  server.circuits = 3;
  server.channels = {1, 211, 0, 307, 2};
  server.monitors = 199;
  server.flow_controlled = 1;
  server.gets = 101;
  server.monitor_updates = 9007199254740993;  // more than a double holds
  server.echoes = 7;
  server.to_others_channels = 5;
  server.server_disconnects = 5;
  server.received_bytes = 40'009;
  server.unread_bytes = 1'009;
  server.sent_bytes = 1'000'003;
  snapshot.servers = {server};
  snapshot.clients = {{"power-supplies", "10.0.0.7", "operator", "console1", 2, 19, 17},
                      {"power-supplies", "10.0.0.8", "", "", 1, 0, 0}};
  snapshot.gateways = {{"power-supplies", "10.0.0.9"}};
  snapshot.pending_puts = {{"power-supplies", 2, 23.5, {}}};
  snapshot.pvs = {{"power-supplies", "PS:Quad1.DESC", "PS:Q1:SetCur", "DESC"}};
  snapshot.searches = {{"10.0.0.7", 4001}, {"(other)", 13}};
  snapshot.searched_names = {{"10.0.0.7", "PS:Q1:SetCurr", 3989, 1790000000, 1790000300}};
  snapshot.beacons = {{"10.0.0.2:5064", 1009}};
}

}  // namespace

Snapshot sample_snapshot() {
  Snapshot snapshot;
  IocSample vacuum;
  vacuum.name = "vacuum \"old\" \xFF";
  vacuum.up = true;
  vacuum.pid = 813;
  vacuum.start_time_seconds = 1790000100;
  vacuum.executable = "C:\\ioc";
  vacuum.user = "1002";
  vacuum.claimed_name = "power-supplies";
  vacuum.contested_with = "epics";
  IocSample gone;
  gone.name = "timing";
  gone.pid = 99;
  gone.base_version = "3.15.9";
  snapshot.iocs = {power_supplies(), vacuum, gone};
  add_channel_access(snapshot);
  snapshot.probes = {{"record_process", true, 4, 9007199254740992, 1'500'000'000},
                     {"ca_tap", false, 0, {}, {}}};
  snapshot.maps = {{"record_stats", 3, 65536}, {"record_stats", 4, 65536}, {"ca_puts", 2, 16384}};
  snapshot.drops = {{{"record_process", "unwound"}, 1}, {{"record_process", "full"}, 0}};
  snapshot.iocs[0].overhead =
      OverheadSample{.core_share = 0.0475, .timed_share = 0.0625, .nothing_counted = false};
  snapshot.kernel_memory = KernelMemorySample{123'456'789, 1u << 30};
  snapshot.hit_cost = kernel::HitCost{0.5e-6, 7e-6};
  snapshot.put_sinks = {
      {.sink = "memory", .received = 23, .delivered = 23},
      {.sink = "file",
       .received = 23,
       .delivered = 19,
       .filtered = 1,
       .waiting = 2,
       .dropped = {{"queue_full", 1}}},
      {.sink = "loki", .received = 23, .delivered = 13, .waiting = 10},
  };
  snapshot.trace_sinks = {{.sink = "zipkin",
                           .received = 17,
                           .delivered = 11,
                           .filtered = 3,
                           .waiting = 2,
                           .dropped = {{"queue_full", 1}},
                           .failures = 4}};
  snapshot.limited = {{"records", 0}, {"puts", 23}};
  snapshot.families = puts::source_families({{"power-supplies", "ca", "server"},
                                             {"power-supplies", "pva", "server"},
                                             {"timing", "ca", "packets", "stripped"}},
                                            {{"power-supplies", "ca", 7}});
  snapshot.ioc_overhead = {{"power-supplies", "record_process", 11.5},
                           {"power-supplies", "ca_server_probe", 0.25}};
  snapshot.states = {{"channels", 0, 1}};
  snapshot.expected_iocs = {"power-supplies", "vacuum"};
  snapshot.left_out = 7;
  snapshot.collectors = {{"records", true, 0.0125}, {"puts", false, 0.5}};
  return snapshot;
}

ExporterInfo sample_exporter() {
  ProcessStats process;
  process.cpu_seconds = 1.25;
  process.boot_time_seconds = 1789990000;
  process.start_time_seconds = 1789999999.5;
  process.virtual_memory_bytes = 1 << 28;
  process.resident_memory_bytes = 1 << 24;
  process.max_fds = 1024;
  process.open_fds = 23;
  return {.build = {"0.1.0", "abc1234", "GNU 12.2.0"},
          .time_seconds = 1790000000.25,
          .area = "ring",
          .owner = "sr-controls",
          .process = process,
          .config = ConfigSample{true, 1790000123.5, 1800000000},
          .http = HttpSample{{{"password", 4}, {"host", 0}}, {{"/-/reload", 1}, {"/metrics", 23}}},
          .readers = iocs::ReaderSample{3, 2},
          .loop_ticks = 17};
}

}  // namespace ioc_exporter::app
