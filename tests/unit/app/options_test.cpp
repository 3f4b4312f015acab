#include "app/options.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <vector>

#include "support/temporary_folder.h"
#include "support/value_of.h"

namespace ioc_exporter::app {
namespace {

Result<std::variant<Options, PrintAndExit>> parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "ioc_exporter");
  return parse_options(static_cast<int>(arguments.size()), arguments.data());
}

Options parsed(std::vector<const char*> arguments) {
  return std::get<Options>(value_of(parse(std::move(arguments))));
}

std::string refusal(std::vector<const char*> arguments) {
  return error_of(parse(std::move(arguments)));
}

TEST(Options, Defaults) {
  const Options options = parsed({});
  EXPECT_EQ(options.web.listen, std::vector<std::string>{":10064"});
  EXPECT_EQ(options.web.telemetry_path, "/metrics");
  EXPECT_FALSE(options.web.lifecycle);
  EXPECT_TRUE(options.records.enabled);
  EXPECT_EQ(options.records.max_threads, 4096u);
  EXPECT_FALSE(options.records.causes);
  EXPECT_TRUE(options.records.puts);
  EXPECT_EQ(options.records.stuck_after, std::chrono::seconds(30));
  EXPECT_EQ(options.records.overhead_budget, 25.0);
  EXPECT_EQ(options.records.overhead_target, 1.0);
  EXPECT_EQ(options.histogram_factor, exposition::EdgeStep::by_16);
  EXPECT_EQ(options.series, exposition::SeriesSet::all);
  EXPECT_EQ(options.iocs.keep_gone, std::chrono::hours(24));
  EXPECT_EQ(options.iocs.interval, std::chrono::seconds(1));
  EXPECT_EQ(options.iocs.name_sources, iocs::default_name_sources());
  EXPECT_FALSE(options.once);
  EXPECT_FALSE(options.check);
  EXPECT_TRUE(options.ca.enabled);
  EXPECT_TRUE(options.ca.server_ports.empty());
  EXPECT_FALSE(options.ca.remote_servers);
  EXPECT_EQ(options.ca.max_channels, 131072u);
  EXPECT_EQ(options.ca.max_circuits, 65536u);
}

TEST(Options, FlagsSetWhatTheyName) {
  const Options options =
      parsed({"--web.listen-address=[::1]:1", "--web.listen-address", "127.0.0.1:2",
              "--ioc.include=PS.*", "--no-collector.puts", "--once=1m", "--strict"});
  EXPECT_EQ(options.web.listen, (std::vector<std::string>{"[::1]:1", "127.0.0.1:2"}));
  EXPECT_TRUE(options.iocs.filter.wants("PS1"));
  EXPECT_FALSE(options.iocs.filter.wants("VAC1"));
  EXPECT_FALSE(options.ca.enabled);
  EXPECT_EQ(options.once, std::chrono::minutes(1));
  EXPECT_TRUE(options.strict);
  const Options more =
      parsed({"--ca.server-port=5064,6064", "--ca.server-port=7064", "--ca.remote-servers",
              "--ca.max-channels=1024", "--ca.max-circuits=4194304"});
  EXPECT_EQ(more.ca.server_ports, (std::vector<std::uint16_t>{5064, 6064, 7064}));
  EXPECT_TRUE(more.ca.remote_servers);
  EXPECT_EQ(more.ca.max_channels, 1024u);
  EXPECT_EQ(more.ca.max_circuits, 4194304u);
  EXPECT_EQ(parsed({"--histogram.factor=2"}).histogram_factor, exposition::EdgeStep::by_2);
  EXPECT_EQ(parsed({"--series=site"}).series, exposition::SeriesSet::site);
}

TEST(Options, Records) {
  const Options options =
      parsed({"--records.max-threads=16", "--no-records.durations", "--records.causes",
              "--no-records.puts", "--records.stuck-after=2m", "--overhead.budget=0.5",
              "--web.enable-lifecycle"});
  EXPECT_EQ(options.records.max_threads, 16u);
  EXPECT_FALSE(options.records.durations);
  EXPECT_TRUE(options.records.causes);
  EXPECT_FALSE(options.records.puts);
  EXPECT_EQ(options.records.stuck_after, std::chrono::minutes(2));
  EXPECT_EQ(options.records.overhead_budget, 0.5);
  EXPECT_TRUE(options.web.lifecycle);
}

TEST(Options, TheUnitsFolderMayHaveTheSitesFile) {
  const TemporaryFolder folder;
  ::setenv("CONFIGURATION_DIRECTORY", folder.path().c_str(), 1);
  EXPECT_EQ(parsed({}).config_file, "");
  folder.write("/ioc_exporter.yml", "{}\n");
  EXPECT_EQ(parsed({}).config_file, folder.path("/ioc_exporter.yml"));
  EXPECT_EQ(parsed({"--config.check"}).config_file, folder.path("/ioc_exporter.yml"));
  EXPECT_EQ(parsed({"--config.file=other.yml"}).config_file, "other.yml");
  ::unsetenv("CONFIGURATION_DIRECTORY");
  EXPECT_EQ(parsed({}).config_file, "");
}

TEST(Options, UsageErrorsNameTheOptionOrTheCause) {
  const std::pair<std::vector<const char*>, const char*> kBad[] = {
      {{"--no-such-flag"}, "no-such-flag"},
      {{"--ioc.include=("}, "ioc.include"},
      {{"--ioc.exclude=*"}, "ioc.exclude"},
      {{"--once=soon"}, "--once"},
      {{"--discovery.interval=1ms"}, "--discovery.interval"},
      {{"--ioc.name-source=guess"}, "guess"},
      {{"--log.level=loud"}, "loud"},
      {{"--log.format=xml"}, "xml"},
      {{"--web.max-requests=0"}, "--web.max-requests"},
      {{"--web.max-requests=many"}, "many"},
      {{"--web.telemetry-path=metrics"}, "metrics"},
      {{"--web.listen-address=nowhere:port"}, "nowhere:port"},
      {{"--ca.server-port=5064,0"}, "--ca.server-port"},
      {{"--ca.server-port=65536"}, "65536"},
      {{"--ca.max-channels=1023"}, "--ca.max-channels"},
      {{"--ca.max-circuits=4194305"}, "--ca.max-circuits"},
      {{"--records.max-threads=15"}, "--records.max-threads"},
      {{"--records.stuck-after=long"}, "long"},
      {{"--histogram.factor=3"}, "--histogram.factor"},
      {{"--series=few"}, "\"few\" is none of all, site"},
      {{"--overhead.budget=-1"}, "--overhead.budget"},
      {{"--overhead.budget=nan"}, "nan"},
      {{"stray"}, "stray"},
      {{"--no-collector.records", "--no-collector.puts"}, "collectors"},
      {{"--set=records.include=("}, "records.include"},
      {{"--limit=put=3"}, "--limit: \"put=3\""},
      {{"--set=pvs.expire=1s"}, "pvs.expire"},
      {{"--config.check"}, "--config.check"}};
  for (const auto& [arguments, named] : kBad)
    EXPECT_NE(refusal(arguments).find(named), std::string::npos) << arguments.front();
}

TEST(Options, HelpShowsEachOptionOnce) {
  const auto help = parse({"--help"});
  ASSERT_TRUE(help);
  const std::string& text = std::get<PrintAndExit>(*help).text;
  for (const char* option : {"--web.listen-address", "--ioc.include", "--collector.records",
                             "--records.puts", "--ca.max-channels", "--once", "--check"})
    EXPECT_NE(text.find(std::string("  ") + option + " "), std::string::npos) << option << "\n"
                                                                              << text;
  EXPECT_EQ(text.find("\n      --no-"), std::string::npos) << text;
}

TEST(Options, AnyKeyOfTheFileMayBeSet) {
  const Options options =
      parsed({"--set=records.include=a{1,2}=.*", "--set=traces.causes=ca",
              "--set=traces.causes=once", "--set=traces.alarms=true", "--set=iocs.exclude=.*test"});
  EXPECT_EQ(options.records.shown.include->text(), "a{1,2}=.*") << "commas and all";
  EXPECT_EQ(std::popcount(options.traces.causes), 2);
  EXPECT_TRUE(options.traces.alarms);
  EXPECT_FALSE(options.iocs.filter.wants("a test"));
  EXPECT_EQ(refusal({"--set=traces.alarm=true"}), "--set: the file has no key \"traces.alarm\"");
  EXPECT_EQ(refusal({"--set=traces.alarms"}), "--set: \"traces.alarms\" is not KEY=VALUE");
}

TEST(Options, AreFew) {
  Options options;
  std::size_t flags = 0;
  const OptionTable table = option_table(options);
  for (const OptionGroup& group : table.groups())
    for (const OptionRow& row : group.rows) flags += row.flag.empty() ? 0u : 1u;
  EXPECT_LE(flags, 60u) << "a key of the file serves an option that few set";
}

}  // namespace
}  // namespace ioc_exporter::app
