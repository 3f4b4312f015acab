// From options to sinks: flags, the site's file, files.
#include "putlog/outlets.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "base/yaml_reader.h"
#include "events.h"
#include "support/delivery_thread.h"
#include "support/temporary_folder.h"

namespace ioc_exporter::putlog {
namespace {

class OutletsTest : public testing::Test {
 protected:
  // "" = it was read, else the problems.
  std::string read(const std::string& yaml) {
    Problems problems("site.yml");
    const YAML::Node node = parse_yaml(yaml, problems);
    Reader section(node, "putlog", problems);
    read_sinks(section, options_, gone_);
    section.finish();
    return problems.empty() ? "" : problems.error().message();
  }

  const TemporaryFolder temporary_;
  const std::string folder_ = temporary_.path();
  OutletOptions options_;
  std::vector<std::string> gone_;
};

TEST_F(OutletsTest, TheSitesFileNamesSinksEachWithItsFilter) {
  EXPECT_EQ(read("sinks:\n"
                 "  - {file: /var/log/a.jsonl, size: 1MiB, age: 1h, count: 3, unexpected: true}\n"
                 "  - {name: vacuum, tcp: 'loghost:7011', pv: 'VAC:.*', not_pv: '.*:T', burst: 0}\n"
                 "  - {tcp: '[::1]:7011', format: full, client: '10\\..*', user: ada, ioc: ps}\n"),
            "");
  options_.tcp.tcp = "other:1";
  const auto all = options_.all_sinks();
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0].name, "tcp");
  EXPECT_EQ(all[1].name, "file");
  EXPECT_EQ(all[1].size, 1u << 20);
  EXPECT_EQ(all[1].count, 3u);
  EXPECT_EQ(all[1].burst, options_.burst);
  EXPECT_TRUE(all[1].filter.unexpected);
  EXPECT_EQ(all[2].name, "vacuum");
  EXPECT_EQ(all[2].burst, std::chrono::milliseconds(0));
  EXPECT_TRUE(all[2].filter.pv.wants("VAC:P"));
  EXPECT_FALSE(all[2].filter.pv.wants("VAC:T"));
  EXPECT_FALSE(all[2].filter.inside);
  EXPECT_EQ(all[3].name, "tcp-2");
  EXPECT_TRUE(all[3].full_lines);
}

TEST_F(OutletsTest, ErrorsAreTold) {
  for (const auto& [yaml, problem] :
       {std::pair{"sinks: [{pv: a}]", "one of file, tcp and loki"},
        {"sinks: [{file: /a, tcp: 'b:1'}]", "one of file, tcp and loki"},
        {"sinks: [{loki: 'loki:3100'}]", "no URL"},
        {"sinks: [{loki: 'http://l:1', headers: {'a b': c}}]", "no name of a header"},
        {"sinks: [{tcp: 'a:1', tenant: b}]", "only a sink of loki"},
        {"sinks: [{file: a}]", "no absolute path"},
        {"sinks: [{tcp: 'a'}]", "no HOST:PORT"},
        {"sinks: [{tcp: 'a:b:1'}]", "no HOST:PORT"},
        {"sinks: [{tcp: 'a:0'}]", "no HOST:PORT"},
        {"sinks: [{tcp: 'a:1', format: xml}]", "none of caputlog, full"},
        {"sinks: [{file: /a, size: much}]", "no size"},
        {"sinks: [{file: /a, pv: '('}]", "regular expression"},
        {"sinks: [{file: /a, users: b}]", "users"}})
    EXPECT_NE(read(yaml).find(problem), std::string::npos) << yaml << ": " << read(yaml);
}

TEST_F(OutletsTest, ASinkThatIsGoneIsReported) {
  EXPECT_EQ(read("sinks:\n  - {otlp: 'http://o:4318', headers: {a: b}}\n  - {file: /a}\n"), "");
  ASSERT_EQ(gone_.size(), 1u);
  EXPECT_TRUE(gone_[0].starts_with("putlog.sinks[0]: otlp has no effect")) << gone_[0];
  ASSERT_EQ(options_.sinks.size(), 1u);
  EXPECT_EQ(options_.sinks[0].file, "/a");
}

// While nobody takes any.
TEST_F(OutletsTest, AFloodOfAllowedPutsTakesNoRoomFromForbiddenOnes) {
  options_.file.file = folder_ + "/puts.jsonl";
  const auto outlets = Outlets::make(options_);
  ASSERT_TRUE(outlets);
  EXPECT_EQ(*delivery::owner_of((*outlets)->folders()), ::getuid());
  const auto dropped = [&] { return (*outlets)->samples()[0].dropped.at(delivery::kQueueFull); };
  std::vector<PutEvent> one = events(1, 1);
  one[0].value = Value{std::vector<Element>(1000, 0.5), true};
  while (dropped() == 0) (*outlets)->receive(one);
  one[0].action = "forbidden";
  (*outlets)->receive(one);
  EXPECT_EQ(dropped(), 1u);
}

TEST_F(OutletsTest, AnUnusableFileIsToldAtTheStart) {
  options_.file.file = folder_ + "/no/such/puts.jsonl";
  const auto outlets = Outlets::make(options_);
  ASSERT_TRUE(outlets);
  EXPECT_FALSE(delivery::owner_of((*outlets)->folders()));
  const delivery::DeliveryThread here({outlets->get()});
  EXPECT_NE(here.said().find("/no/such"), std::string::npos) << here.said();
}

TEST_F(OutletsTest, ASaltIsLongEnoughToBeOne) {
  options_.salt_file = folder_ + "/salt";
  EXPECT_FALSE(Outlets::make(options_));
  std::ofstream(options_.salt_file) << "short\n";
  EXPECT_FALSE(Outlets::make(options_));
  std::ofstream(options_.salt_file) << "0123456789abcdef\n";
  EXPECT_TRUE(Outlets::make(options_));
}

}  // namespace
}  // namespace ioc_exporter::putlog
