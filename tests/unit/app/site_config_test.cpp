#include "app/site_config.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace ioc_exporter::app {
namespace {

// A file that goes with the test.
class SiteFile {
 public:
  explicit SiteFile(const std::string& text)
      : path_(std::filesystem::temp_directory_path() /
              ("site_config_test." + std::to_string(::getpid()) + ".yml")) {
    std::ofstream(path_) << text;
  }
  ~SiteFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

Options parsed(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "ioc_exporter");
  std::vector<const char*> words;
  for (const std::string& argument : arguments) words.push_back(argument.c_str());
  auto result = parse_options(static_cast<int>(words.size()), words.data());
  EXPECT_TRUE(result) << result.error().message();
  return result ? std::get<Options>(*result) : Options{};
}

TEST(SiteConfig, FlagsStandAboveTheFile) {
  const SiteFile file(
      "records: {include: 'A.*', exclude: 'B.*'}\n"
      "pvs: {include: 'C.*', expire: 1h}\n"
      "limits: {puts: {series: 11, per_ioc: 7}, beacons: {series: 3}}\n");
  const auto config =
      site_config(parsed({"--config.file=" + file.path(), "--set=records.exclude=X.*",
                          "--set=pvs.expire=2h", "--limit=puts=13,searches=5"}));
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_EQ(config->options.records.shown.include->text(), "A.*");
  EXPECT_EQ(config->options.records.shown.exclude->text(), "X.*");
  EXPECT_EQ(config->options.ca.pvs.include->text(), "C.*");
  EXPECT_EQ(config->options.ca.put_expiry, std::chrono::hours(2));
  EXPECT_EQ(config->options.limits.puts.series, 13u);
  EXPECT_EQ(config->options.limits.puts.per_ioc, 7u);
  EXPECT_EQ(config->options.limits.searches.series, 5u);
  EXPECT_EQ(config->options.limits.beacons.series, 3u);
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

TEST(SiteConfig, CheckSaysWhatIsWrong) {
  const SiteFile bad("limit:\n");
  const ConfigCheck checked = check_config(parsed({"--config.file=" + bad.path()}));
  EXPECT_EQ(checked.text, bad.path() + ":1:1: limit: no such key\n");
  EXPECT_FALSE(checked.valid);
  EXPECT_FALSE(site_config(parsed({"--config.file=" + bad.path()})));
  EXPECT_TRUE(site_config(parsed({})));
}

TEST(SiteConfig, CheckOfAValidFile) {
  const SiteFile good("limits:\n");
  const ConfigCheck checked = check_config(parsed({"--config.file=" + good.path()}));
  EXPECT_EQ(checked.text, good.path() + ": valid\n");
  EXPECT_TRUE(checked.valid);
}

TEST(SiteConfig, IocsThatAreExpected) {
  const SiteFile names("ps  # of the ring\nvac\nother\n");
  Options options =
      parsed({"--set=iocs.expected=rf", "--set=iocs.expected=ps",
              "--set=iocs.expected_file=" + names.path(), "--set=iocs.expected_match=[^o].*"});
  const auto site = site_config(options);
  ASSERT_TRUE(site) << site.error().message();
  EXPECT_EQ(site->expected_iocs, (std::vector<std::string>{"ps", "rf", "vac"}));
  options.iocs.expected.file += ".none";
  EXPECT_FALSE(site_config(options));
  EXPECT_FALSE(check_config(options).valid) << "and is said before it is used";
}

}  // namespace
}  // namespace ioc_exporter::app
