// The journal: fields as its native protocol has them, on a socket of the test's.
#include "putlog/journald_sink.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "events.h"

namespace ioc_exporter::putlog {
namespace {

using Fields = std::map<std::string, std::string>;

// As systemd-journald reads them.
Fields parse(std::string_view text) {
  Fields fields;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (const std::size_t equals = line.find('='); equals != std::string_view::npos) {
      fields[std::string(line.substr(0, equals))] = line.substr(equals + 1);
      continue;
    }
    std::uint64_t size = 0;
    for (unsigned byte = 0; byte < 8; ++byte)
      size |= std::uint64_t{static_cast<unsigned char>(text[byte])} << (8 * byte);
    fields[std::string(line)] = text.substr(8, size);
    text.remove_prefix(8 + size + 1);
  }
  return fields;
}

class JournaldSinkTest : public testing::Test {
 protected:
  JournaldSinkTest() {
    std::string name = testing::TempDir() + "journal.XXXXXX";
    folder_ = ::mkdtemp(name.data());
    path_ = folder_ + "/socket";
  }
  ~JournaldSinkTest() override { std::filesystem::remove_all(folder_); }

  void listen() {
    journal_ = UniqueFd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(::bind(journal_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
              0);
  }
  // Nothing: there is no more.
  std::optional<Fields> receive() const {
    std::string bytes(1 << 20, '\0');
    const ssize_t got = ::recv(journal_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got < 0) return std::nullopt;
    return parse(std::string_view(bytes).substr(0, static_cast<std::size_t>(got)));
  }

  std::string folder_, path_;
  UniqueFd journal_;
};

TEST_F(JournaldSinkTest, TellsEachPutWithItsFields) {
  listen();
  JournaldSink sink(path_);
  PutEvent one = event(7);
  one.old = scalar(std::string("Off"));
  one.client_host = "console";
  one.rule = "default";
  one.action = "unexpected";
  const auto done =
      sink.deliver(std::vector<Entry>{{shared(one)}, {shared(event(8)), 23, Burst{}}});
  EXPECT_EQ(done.entries, 2u) << (done.problem ? done.problem->message() : "");
  EXPECT_EQ(*receive(),
            (Fields{{"MESSAGE", "SR:I: \"Off\" -> 1.5 by ada@console, unexpected: default"},
                    {"PRIORITY", "4"},
                    {"SYSLOG_IDENTIFIER", "ioc_exporter-puts"},
                    {"EPICS_TIME", "2026-11-22T23:00:00.000000005Z"},
                    {"EPICS_SEQ", "7"},
                    {"EPICS_IOC", "ps"},
                    {"EPICS_CLIENT", "10.0.0.7:4711"},
                    {"EPICS_USER", "ada"},
                    {"EPICS_CLIENT_HOST", "console"},
                    {"EPICS_PV", "SR:I"},
                    {"EPICS_OP", "write"},
                    {"EPICS_TYPE", "DBR_DOUBLE"},
                    {"EPICS_VALUE", "1.5"},
                    {"EPICS_OLD", "\"Off\""},
                    {"EPICS_COUNT", "1"},
                    {"EPICS_RULE", "default"},
                    {"EPICS_ACTION", "unexpected"}}));
  const auto burst = receive();
  EXPECT_EQ(burst->at("EPICS_BURST"), "23");
  EXPECT_EQ(burst->at("PRIORITY"), "6");
  EXPECT_FALSE(receive());
}

// Names and users are what clients say.
TEST_F(JournaldSinkTest, NobodyWritesAFieldOfAnother) {
  PutEvent one = event(1, "A\nPRIORITY=0");
  one.user = "eve\nEPICS_USER=ada";
  const Fields fields = parse(journal_fields({shared(one)}));
  EXPECT_EQ(fields.at("EPICS_PV"), "A\nPRIORITY=0");
  EXPECT_EQ(fields.at("EPICS_USER"), "eve\nEPICS_USER=ada");
  EXPECT_EQ(fields.at("PRIORITY"), "6");
  EXPECT_EQ(fields.at("MESSAGE").find('\n'), std::string::npos);
}

TEST_F(JournaldSinkTest, TheLargestPutFits) {
  listen();
  JournaldSink sink(path_);
  PutEvent one = event(1);
  one.value = one.old = Value{{std::string(16'384, '\x01')}, false};  // six bytes each
  EXPECT_EQ(sink.deliver(std::vector<Entry>{{shared(one)}}).entries, 1u);
  EXPECT_GT(receive()->at("EPICS_OLD").size(), 98'000u);
}

TEST_F(JournaldSinkTest, AJournalThatIsSlowOrAwayLosesNothing) {
  JournaldSink sink(path_);
  std::vector<Entry> entries;
  for (std::uint64_t seq = 1; seq <= 2000; ++seq) entries.push_back({shared(event(seq))});
  const auto away = sink.deliver(entries);
  EXPECT_TRUE(away.problem);
  EXPECT_EQ(away.entries + away.refused, 0u);
  listen();
  const auto slow = sink.deliver(entries);  // more than the socket has room for
  EXPECT_GT(slow.entries, 0u);
  EXPECT_LT(slow.entries, 2000u);
  EXPECT_FALSE(slow.problem);
  std::uint64_t seen = 0, sent = slow.entries;
  while (seen < 2000) {
    while (const auto fields = receive())
      EXPECT_EQ(fields->at("EPICS_SEQ"), std::to_string(++seen));
    ASSERT_EQ(seen, sent);
    sent += sink.deliver(std::span(entries).subspan(sent)).entries;
  }
}

}  // namespace
}  // namespace ioc_exporter::putlog
