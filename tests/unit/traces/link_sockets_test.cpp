// Whether a client of one IOC is another one, by that one's sockets.
#include "traces/link_sockets.h"

#include <gtest/gtest.h>

#include "shared/trace_name.h"

namespace ioc_exporter::traces {
namespace {

constexpr std::uint64_t kMs = 1'000'000;
const InetAddress kHere = ipv4_address(127, 0, 0, 1), kPod = ipv4_address(10, 1, 0, 7);

class LinkSocketsTest : public ::testing::Test {
 protected:
  void connect(const InetAddress& from, std::uint16_t port, const InetAddress& to,
               std::uint16_t server) {
    InetSocket socket;
    socket.local = from;
    socket.local_port = port;
    socket.remote = to;
    socket.remote_port = server;
    sockets_.push_back(socket);
  }
  // "?": that is not known yet; "": no; else the server's place.
  std::string look(const InetAddress& client, std::uint16_t port, std::uint64_t put_ms,
                   std::uint64_t now_ms) {
    const auto link = all_.look(from_, to_, client, port, put_ms * kMs, now_ms * kMs);
    if (!link) return "?";
    EXPECT_EQ(link->holds, !link->peer.empty());
    return link->peer;
  }

  std::vector<InetSocket> sockets_;
  int reads_ = 0;
  LinkSockets::End from_{1, 100, 7, {}}, to_{2, 200, 7, {5064, 40000}};
  LinkSockets all_{[this](pid_t pid) -> Result<std::vector<InetSocket>> {
    EXPECT_EQ(pid, 100);
    ++reads_;
    return sockets_;
  }};
};

TEST_F(LinkSocketsTest, TheClientIsASocketOfTheOneAndConnectedToTheOther) {
  connect(kHere, 5001, kHere, 40000);
  connect(kHere, 5002, kHere, 5075);  // another server's
  EXPECT_EQ(look(kHere, 5001, 10, 11), "127.0.0.1:40000");
  EXPECT_EQ(look(kHere, 5002, 10, 11), "");
  EXPECT_EQ(look(kPod, 5001, 10, 11), "");
  EXPECT_EQ(look(kHere, 5003, 10, 11), "");  // another client's
  EXPECT_EQ(reads_, 1);
}

TEST_F(LinkSocketsTest, AConnectionThatIsNewIsLookedFor) {
  EXPECT_EQ(look(kHere, 5001, 10, 11), "");
  connect(kHere, 5001, kHere, 5064);
  EXPECT_EQ(look(kHere, 5001, 20, 21), "?");  // not so often
  EXPECT_EQ(look(kHere, 5001, 20, 212), "127.0.0.1:5064");
  EXPECT_EQ(reads_, 2);
}

TEST_F(LinkSocketsTest, APortThatSomebodyElseHasByNowIsNot) {
  connect(kHere, 5001, kHere, 5064);
  EXPECT_EQ(look(kHere, 5001, 10, 11), "127.0.0.1:5064");
  sockets_.clear();
  EXPECT_EQ(look(kHere, 5001, 6'000, 6'001), "");
}

TEST_F(LinkSocketsTest, EachNamespaceHasLoopbackAddressesOfItsOwn) {
  connect(kHere, 5001, kHere, 5064);
  connect(kPod, 5001, kPod, 5064);
  to_.net_namespace = 8;
  EXPECT_EQ(look(kHere, 5001, 10, 11), "");
  EXPECT_EQ(look(kPod, 5001, 10, 11), "10.1.0.7:5064");
  from_.net_namespace = to_.net_namespace = 0;  // not known
  EXPECT_EQ(look(kHere, 5001, 10, 11), "");
}

std::uint64_t number_of(const std::string& text) {
  iocx_trace_name name = IOCX_TRACE_NAME_START;
  iocx_trace_name_add_text(&name, text.c_str(), static_cast<std::uint32_t>(text.size()));
  return iocx_trace_name_end(&name);
}

TEST(TraceName, ValIsTheFieldThatNeedsNoName) {
  EXPECT_EQ(number_of("SR:PS:I"), number_of("SR:PS:I.VAL"));
  EXPECT_NE(number_of("SR:PS:I"), number_of("SR:PS:I.VALA"));
  EXPECT_NE(number_of("SR:PS:I"), number_of("SR:PS:IVAL"));
  EXPECT_NE(number_of("SR:PS:I"), number_of("SR:PS:I.PROC"));
  EXPECT_NE(number_of("SR:PS:I"), number_of("SR:PS:J"));
  EXPECT_NE(number_of(""), 0u);
}

}  // namespace
}  // namespace ioc_exporter::traces
