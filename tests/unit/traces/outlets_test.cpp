// From options to sinks: flags, the site's file, files.
#include "traces/outlets.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/yaml_reader.h"
#include "support/delivery_thread.h"
#include "traces/json.h"

namespace ioc_exporter::traces {
namespace {

using namespace std::chrono_literals;

class TraceOutlets : public testing::Test {
 protected:
  TraceOutlets() {
    std::string name = testing::TempDir() + "traces.XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~TraceOutlets() override { std::filesystem::remove_all(folder_); }

  // "" = it was read, else the problems.
  std::string read(const std::string& yaml) {
    Problems problems("site.yml");
    const YAML::Node node = parse_yaml(yaml, problems);
    Reader section(node, "traces", problems);
    read_sinks(section, options_);
    section.finish();
    return problems.empty() ? "" : problems.error().message();
  }

  std::string folder_;
  OutletOptions options_;
};

Trace trace_of(const std::string& ioc, Duration duration) {
  Trace trace;
  trace.id = {1};
  trace.ioc = ioc;
  trace.pid = 8;
  trace.cause.kind = "scan";
  trace.spans.push_back({.id = 1, .name = "A", .start = Time(1s), .duration = duration});
  return trace;
}

TEST_F(TraceOutlets, TheSitesFileNamesSinksEachWithItsFilter) {
  EXPECT_EQ(read("sinks:\n"
                 "  - {zipkin: 'http://z:9411', ioc: 'SR.*', slower: 5ms, span_names: type}\n"
                 "  - {name: cloud, otlp: 'https://o:4318', tenant: site, login_file: /l,\n"
                 "     ca_file: /ca.pem, headers: {Api-Key: 'k e y'}}\n"
                 "  - {file: /var/log/a.jsonl, size: 1MiB, age: 1h, count: 3, cause: ca}\n"),
            "");
  options_.zipkin.zipkin = "http://other:9411";
  const auto all = options_.all_sinks();
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0].name, "zipkin");
  EXPECT_EQ(all[0].names, SpanNames::record);
  EXPECT_EQ(all[1].name, "zipkin-2");
  EXPECT_EQ(all[1].names, SpanNames::type);
  EXPECT_FALSE(all[1].filter.wants(trace_of("SR", 4ms)));
  EXPECT_FALSE(all[1].filter.wants(trace_of("LI", 6ms)));
  EXPECT_TRUE(all[1].filter.wants(trace_of("SR1", 6ms)));
  EXPECT_EQ(all[2].name, "cloud");
  EXPECT_EQ(all[2].receiver.headers, (std::map<std::string, std::string>{{"Api-Key", "k e y"}}));
  EXPECT_EQ(all[3].count, 3u);
  EXPECT_FALSE(all[3].filter.wants(trace_of("SR", 4ms)));
}

TEST_F(TraceOutlets, ConfigurationErrorsAreReported) {
  for (const auto& [yaml, problem] :
       {std::pair{"sinks: [{ioc: a}]", "one of file, zipkin and otlp"},
        {"sinks: [{file: /a, otlp: 'http://b:1'}]", "one of file, zipkin and otlp"},
        {"sinks: [{zipkin: 'z:9411'}]", "no URL such as http://zipkin:9411"},
        {"sinks: [{otlp: 'http://o:4318/'}]", "no URL such as http://collector:4318"},
        {"sinks: [{otlp: 'http://o:1', headers: {'a b': c}}]", "no name of a header"},
        {"sinks: [{otlp: 'http://o:1', headers: {a: \"b\\nc: d\"}}]", "no value of a header"},
        {"sinks: [{otlp: 'http://o:1', span_names: ioc}]", "none of record, type"},
        {"sinks: [{file: a}]", "no absolute path"},
        {"sinks: [{file: /a, record: '('}]", "regular expression"},
        {"sinks: [{file: /a, users: b}]", "users"}})
    EXPECT_NE(read(yaml).find(problem), std::string::npos) << yaml << ": " << read(yaml);
}

TEST_F(TraceOutlets, SinksThatCannotWorkAreReportedAtTheStart) {
  options_.otlp.otlp = "http://localhost:4318";
  options_.otlp.receiver.login_file = folder_ + "/none";
  EXPECT_FALSE(Outlets::make(options_, "1"));
  options_.otlp.receiver.login_file.clear();
  EXPECT_TRUE(Outlets::make(options_, "1"));
  options_.otlp.otlp = "https://localhost:4318";
  EXPECT_TRUE(Outlets::make(options_, "1"));
}

TEST_F(TraceOutlets, AFileHasTracesAsLines) {
  options_.file.file = folder_ + "/traces.jsonl";
  const auto trace = std::make_shared<const Trace>(trace_of("SR", 4ms));
  {
    auto outlets = Outlets::make(options_, "1");
    ASSERT_TRUE(outlets);
    {
      const delivery::DeliveryThread here({outlets->get()});
      ASSERT_EQ(here.said(), ".");
      (*outlets)->receive(std::vector<SharedTrace>(23, trace));
    }
    EXPECT_EQ((*outlets)->samples()[0].delivered, 23u);
  }
  std::ifstream file(options_.file.file);
  int lines = 0;
  for (std::string line; std::getline(file, line); ++lines)
    EXPECT_EQ(*trace_from_json(line), *trace);
  EXPECT_EQ(lines, 23);
}

}  // namespace
}  // namespace ioc_exporter::traces
