// The configuration: flags, and the site's file.
#include <gmock/gmock.h>

#include "app/site_config.h"
#include "base/yaml_reader.h"
#include "support/temporary_folder.h"
#include "support/value_of.h"

namespace ioc_exporter::app {
namespace {

std::string problems_of(const std::string& text) {
  return error_of(parse_config(text, "site.yml"));
}

TEST(Config, AnEmptyFileIsValid) {
  for (const char* text : {"", "# nothing yet\n", "---\n", "limits:\n", "records:\n  groups:\n"})
    EXPECT_EQ(problems_of(text), "") << text;
  const auto config = value_of(parse_config("", "site.yml"));
  EXPECT_TRUE(config.records.shown.wants_all());
  EXPECT_TRUE(config.records.groups.empty());
  EXPECT_EQ(config.limits.records.series, 200'000u);
}

TEST(Config, ReadsItsValues) {
  const auto config = value_of(parse_config(
      "iocs: {include: 'ps-.*', name_sources: script}\n"
      "records:\n  include: SR:.*\n  groups: [{match: '(..):.*', group: 'sector \\1'}]\n"
      "pvs: {expire: 36h}\n"
      "limits: {puts: {series: 100, per_client: 7}}\n"
      "series: site\n",
      "site.yml"));
  EXPECT_EQ(config.iocs.filter.include->text(), "ps-.*");
  EXPECT_FALSE(config.iocs.filter.exclude);
  EXPECT_EQ(only(config.iocs.name_sources).text(), "script");
  EXPECT_EQ(config.records.groups.at(0).match.rewritten("SR:x", config.records.groups[0].group),
            "sector SR");
  EXPECT_EQ(config.ca.put_expiry, std::chrono::hours(36));
  EXPECT_EQ(config.series, exposition::SeriesSet::site);
  EXPECT_EQ(config.limits.puts.series, 100u);
  EXPECT_EQ(config.limits.puts.per_client, 7u);
  EXPECT_EQ(config.limits.puts.per_ioc, 15'000u);
}

TEST(Config, GatewaysAreAddressesNetworksOrNames) {
  const auto config = value_of(parse_config(
      "gateways: [10.0.0.7, 10.1.0.0/16, '2001:db8::7', gw1.site.org, gw_2]\n", "site.yml"));
  EXPECT_EQ(config.ca.gateways.networks.size(), 3u);
  EXPECT_EQ(config.ca.gateways.hosts, (std::set<std::string>{"gw1.site.org", "gw_2"}));
  EXPECT_EQ(problems_of("gateways:\n  - 10.0.0.300\n  - 10.0.0.1/8\n  - ''\n  - gw*\n"),
            "site.yml:2:5: gateways[0]: \"10.0.0.300\" is no network: it wants an address, or "
            "ADDRESS/BITS\n"
            "site.yml:3:5: gateways[1]: \"10.0.0.1/8\" is no network: the address has bits beyond "
            "the first 8\n"
            "site.yml:4:5: gateways[2]: \"\" is no network: it wants an address, or ADDRESS/BITS\n"
            "site.yml:5:5: gateways[3]: \"gw*\" is no network: it wants an address, or "
            "ADDRESS/BITS");
}

TEST(Config, TellsAllProblemsWithTheirPlaces) {
  EXPECT_EQ(
      problems_of("records:\n"
                  "  include: '(SR'\n"
                  "  groups:\n"
                  "    - group: x\n"
                  "    - match: 'SR:.*'\n"
                  "limit:\n"
                  "  puts: 3\n"
                  "limits:\n"
                  "  puts: {series: 0, per_cleint: 3}\n"
                  "  searches: {per_client: 5}\n"
                  "  pvs: 5\n"
                  "pvs: {expire: 3 days}\n"
                  "iocs: {name_sources: [exe, host]}\n"),
      "site.yml:2:12: records.include: regular expression \"(SR\": missing ): (SR\n"
      "site.yml:4:7: records.groups[0]: match is missing\n"
      "site.yml:5:14: records.groups[1].match: \"\\1\" cannot be made from \"SR:.*\": Rewrite "
      "schema requests 1 matches, but the regexp only has 0 parenthesized subexpressions.\n"
      "site.yml:6:1: limit: no such key\n"
      "site.yml:9:18: limits.puts.series: \"0\" is no whole number from 1 to 10000000\n"
      "site.yml:9:21: limits.puts.per_cleint: no such key\n"
      "site.yml:10:14: limits.searches.per_client: no such key\n"
      "site.yml:11:8: limits.pvs must be a mapping (key: value)\n"
      "site.yml:12:15: pvs.expire: parse duration \"3 days\": not of the form 500ms, 5s, 1m30s, "
      "2h or 0.5\n"
      "site.yml:13:28: iocs.name_sources[1]: \"host\" is none of env:VARIABLE, script, "
      "procserv, exe, container and pod");
}

TEST(Config, FunctionsAndWalksThatDoNotGoTogetherHaveTheirPlace) {
  EXPECT_EQ(problems_of("functions:\n"
                        "  - {name: a, file: f, symbol: f}\n"
                        "  - {name: a, file: f, symbol: f}\n"
                        "  - {name: b, file: f, symbol: f, timed: true, metrics: {durations: "
                        "epics_site_i, durations_help: I.}}\n"
                        "walks:\n"
                        "  - {name: w, file: f, each: [{item: i, first: '[v]', next: '[i]'}], "
                        "metrics: [{name: epics_site_i_count, help: I.}]}\n"),
            "site.yml:3:5: functions[1]: describe function a: another function has this name\n"
            "site.yml:4:5: functions[2]: describe function b: epics_site_i has epics_site_i_count "
            "on the page, which is of epics_site_i_count too");
}

// Those beyond are not looked at.
TEST(Config, MoreFunctionsThanThereMayBe) {
  std::string text = "functions:\n";
  for (int i = 0; i < 256; ++i)
    text += "- {name: f" + std::to_string(i) + ", file: f, symbol: f}\n";
  EXPECT_EQ(problems_of(text), "");
  EXPECT_EQ(problems_of(text + "- {nonsense: 1}\n- {}\n"),
            "site.yml:258:3: functions[256]: there may be 256 at most");
}

TEST(Config, NamesTheLineThatIsNoYaml) {
  EXPECT_EQ(problems_of("records:\n  include: [a\nlimits: 3\n").substr(0, 9), "site.yml:");
  EXPECT_EQ(problems_of("a:\n  " + std::string(5000, '[') + "\n"),
            "site.yml: no valid YAML: nested in more than 500 levels, before line 4");
  EXPECT_THAT(problems_of("a: b: c\n"), testing::HasSubstr("site.yml:1:5: no valid YAML: "));
  EXPECT_THAT(problems_of("---\nlimits:\n---\nlimits:\n"), testing::HasSubstr("a second document"));
  EXPECT_EQ(problems_of("- a\n- b\n"), "site.yml:1:1: the file must be a mapping (key: value)");
  EXPECT_EQ(problems_of("text"), "site.yml:1:1: the file must be a mapping (key: value)");
}

TEST(Config, AKeyThatComesTwiceIsAProblemAndAMissingFileIsNamed) {
  EXPECT_EQ(problems_of("limits: {puts: {series: 1, series: 2}}\nlimits:\n"),
            "site.yml:1:28: limits.puts.series comes twice\nsite.yml:2:1: limits comes twice");
  EXPECT_EQ(error_of(read_config("/no/such/site.yml")),
            "read /no/such/site.yml: No such file or directory");
}

TEST(Config, LimitsByFlag) {
  exposition::SeriesLimits limits;
  EXPECT_TRUE(set_limit("puts=5000", limits));
  EXPECT_TRUE(set_limit("puts.per_client=7", limits));
  EXPECT_TRUE(set_limit("records.per_ioc=11", limits));
  EXPECT_EQ(limits.puts.series, 5000u);
  EXPECT_EQ(limits.puts.per_client, 7u);
  EXPECT_EQ(limits.records.per_ioc, 11u);
  for (const char* text : {"", "puts", "put=3", "puts=", "puts=0", "puts=3x", "puts=10000001",
                           "searches.per_ioc=3", "puts.=3x", "=3"})
    EXPECT_FALSE(set_limit(text, limits)) << text;
}

// A file that goes with the test.
class SiteFile {
 public:
  explicit SiteFile(const std::string& text) { folder_.write("/site.yml", text); }
  std::string path() const { return folder_.path("/site.yml"); }

 private:
  TemporaryFolder folder_;
};

Options parsed(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "ioc_exporter");
  std::vector<const char*> words;
  for (const std::string& argument : arguments) words.push_back(argument.c_str());
  return std::get<Options>(value_of(parse_options(static_cast<int>(words.size()), words.data())));
}

TEST(SiteConfig, FlagsStandAboveTheFile) {
  const SiteFile file(
      "records: {include: 'A.*', exclude: 'B.*'}\n"
      "pvs: {include: 'C.*', expire: 1h}\n"
      "limits: {puts: {series: 11, per_ioc: 7}, beacons: {series: 3}}\n");
  const auto config = value_of(site_config(
      parsed({"--config.file=" + file.path(), "--set=records.exclude=X.*", "--set=pvs.expire=2h",
              "--limit=puts=13,searches=5", "--limit=records=17"})));
  EXPECT_EQ(config.options.records.shown.include->text(), "A.*");
  EXPECT_EQ(config.options.records.shown.exclude->text(), "X.*");
  EXPECT_EQ(config.options.ca.pvs.include->text(), "C.*");
  EXPECT_EQ(config.options.ca.put_expiry, std::chrono::hours(2));
  EXPECT_EQ(config.options.limits.puts.series, 13u);
  EXPECT_EQ(config.options.limits.puts.per_ioc, 7u);
  EXPECT_EQ(config.options.limits.searches.series, 5u);
  EXPECT_EQ(config.options.limits.records.series, 17u);
  EXPECT_EQ(config.options.limits.beacons.series, 3u);
}

TEST(SiteConfig, TheIocsOfTheFileAreUsedUnlessFlagsSayOthers) {
  const SiteFile file("iocs: {exclude: 'test-.*', name_sources: [exe]}\n");
  Options options = parsed({"--config.file=" + file.path()});
  options = site_config(options)->options;
  EXPECT_FALSE(options.iocs.filter.wants("test-1"));
  EXPECT_TRUE(options.iocs.filter.wants("ps"));
  ASSERT_EQ(options.iocs.name_sources.size(), 1u);

  options =
      parsed({"--config.file=" + file.path(), "--ioc.include=.*", "--ioc.name-source=script,exe"});
  options = site_config(options)->options;
  EXPECT_TRUE(options.iocs.filter.wants("test-1"));
  EXPECT_EQ(options.iocs.name_sources.size(), 2u);
}

TEST(SiteConfig, CheckPrintsAllProblems) {
  const SiteFile good("limits:\n");
  const ConfigCheck found = check_config(parsed({"--config.file=" + good.path()}));
  EXPECT_EQ(found.text, good.path() + ": valid\n");
  EXPECT_TRUE(found.valid);
  const SiteFile bad("limit:\n");
  const ConfigCheck checked = check_config(parsed({"--config.file=" + bad.path()}));
  EXPECT_EQ(checked.text, bad.path() + ":1:1: limit: no such key\n");
  EXPECT_FALSE(checked.valid);
  EXPECT_FALSE(site_config(parsed({"--config.file=" + bad.path()})));
  EXPECT_TRUE(site_config(parsed({})));
}

TEST(SiteConfig, IocsThatAreExpected) {
  const SiteFile names("ps  # of the ring\nvac\nother\n");
  Options options =
      parsed({"--set=iocs.expected=rf", "--set=iocs.expected=ps",
              "--set=iocs.expected_file=" + names.path(), "--set=iocs.expected_match=[^o].*"});
  EXPECT_EQ(value_of(site_config(options)).expected_iocs,
            (std::vector<std::string>{"ps", "rf", "vac"}));
  options.iocs.expected.file += ".none";
  EXPECT_FALSE(site_config(options));
  EXPECT_FALSE(check_config(options).valid) << "and is said before it is used";
}

}  // namespace
}  // namespace ioc_exporter::app
