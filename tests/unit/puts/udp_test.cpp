// Datagrams, and their totals.
#include <gtest/gtest.h>

#include "bytes.h"
#include "puts/tap/connections.h"
#include "support/ca_datagram.h"

namespace {

using namespace ioc_exporter;
using namespace ioc_exporter::puts;
using namespace ioc_exporter::testing;
using Messages = std::vector<CaUdpMessage>;

constexpr CaUdpPorts kToServer{true, false};
constexpr CaUdpPorts kFromServer{false, true};

// A search as libca sends it (udpiiu.cpp): type 5 = DONTREPLY, count = its version, CID twice.
Bytes search(std::uint32_t cid, const std::string& name) {
  return message(6, 5, 13, cid, cid, text(name));
}
// An answer as rsrv sends it (search_reply_udp() in camessage.c).
Bytes answer(std::uint32_t cid, std::uint32_t port, std::uint32_t address = 0xFFFFFFFF) {
  return message(6, port, 0, address, cid, Bytes{0, 13});
}
Bytes beacon(std::uint32_t number, std::uint32_t port, std::uint32_t address = 0) {
  return message(13, 13, port, number, address);
}

CaUdpMessage searched(std::uint32_t cid, const std::string& name, bool cut = false) {
  return {IOCX_CA_UDP_SEARCH, cid, 0, 0, name, cut};
}
CaUdpMessage answered(std::uint32_t cid, std::uint16_t port, std::uint32_t address) {
  return {IOCX_CA_UDP_ANSWER, cid, port, address, "", false};
}
const CaUdpMessage kBad{IOCX_CA_UDP_BAD, 0, 0, 0, "", false};

TEST(CaDatagram, ReadsSearchesAnswersAndBeacons) {
  EXPECT_EQ(read_datagram(version() + search(7, "PS:1:SP") + search(8, "A"), kToServer),
            (Messages{searched(7, "PS:1:SP"), searched(8, "A")}));
  EXPECT_EQ(read_datagram(version() + answer(7, 41234) + answer(8, 5064, 0x0A000007), kFromServer),
            (Messages{answered(7, 41234, 0xFFFFFFFF), answered(8, 5064, 0x0A000007)}));
  EXPECT_EQ(read_datagram(message(6, 5064, 0, 0xFFFFFFFF, 3), kFromServer),
            (Messages{answered(3, 5064, 0xFFFFFFFF)}))
      << "without a payload";
  EXPECT_EQ(read_datagram(beacon(41, 5064, 0xC0A80001), kToServer),
            (Messages{{IOCX_CA_UDP_BEACON, 41, 5064, 0xC0A80001, "", false}}));
  EXPECT_EQ(read_datagram(search(7, "PS:1") + answer(8, 5064), {true, true}),
            (Messages{searched(7, "PS:1"), answered(8, 5064, 0xFFFFFFFF)}))
      << "where ports do not tell";
}

TEST(CaDatagram, PassesOverOtherMessagesAndThoseFromTheWrongSide) {
  EXPECT_TRUE(read_datagram(search(7, "PS:1") + beacon(1, 5064), kFromServer).empty());
  EXPECT_TRUE(read_datagram(answer(7, 5064), kToServer).empty());
  const Bytes others = version() + message(14, 10, 13, 5, 5) + message(17, 0, 0, 0, 0x7F000001) +
                       message(24, 0, 0, 0, 0x7F000001) + message(23, 0, 0, 0, 0);
  EXPECT_TRUE(read_datagram(others, kToServer).empty());
  EXPECT_TRUE(read_datagram({}, kToServer).empty());  // how old clients register with the repeater
}

TEST(CaDatagram, StopsWhereItIsNoChannelAccess) {
  EXPECT_EQ(
      read_datagram(search(7, "A") + message(4, 6, 1, 1, 1, Bytes(8)) + search(8, "B"), kToServer),
      (Messages{searched(7, "A"), kBad}));
  EXPECT_EQ(read_datagram(Bytes{'h', 'e', 'l', 'l', 'o'}, kToServer), (Messages{kBad}));
  Bytes odd = search(7, "A");
  odd[3] = 7;  // the payload's size is no multiple of 8
  EXPECT_EQ(read_datagram(odd + search(8, "B"), kToServer), (Messages{kBad}));
}

TEST(CaDatagram, StopsAtEveryPlaceWhereItIsCut) {
  const Bytes whole = search(7, "PS:1:SP") + long_message(6, 5, 13, 8, 8, text("LONG:HEADER"));
  const std::size_t first = search(7, "PS:1:SP").size();
  for (std::size_t size = 1; size < whole.size(); ++size) {
    const auto read = read_datagram(std::span(whole).first(size), kToServer);
    if (size < first)
      EXPECT_EQ(read, (Messages{kBad})) << size;
    else if (size == first)
      EXPECT_EQ(read, (Messages{searched(7, "PS:1:SP")}));
    else
      EXPECT_EQ(read, (Messages{searched(7, "PS:1:SP"), kBad})) << size;
  }
  EXPECT_EQ(read_datagram(whole, kToServer),
            (Messages{searched(7, "PS:1:SP"), searched(8, "LONG:HEADER")}));
}

TEST(CaDatagram, KeepsNamesOfEveryLength) {
  for (std::size_t length = 1; length < 200; ++length) {
    const std::string name(length, 'n');
    EXPECT_EQ(read_datagram(search(7, name) + search(8, "next"), kToServer),
              (Messages{searched(7, name.substr(0, 95), length > 95), searched(8, "next")}))
        << length;
  }
  // It may fill its payload.
  EXPECT_EQ(read_datagram(message(6, 5, 13, 1, 1, Bytes(16, 'n')) + search(2, "m"), kToServer),
            (Messages{searched(1, std::string(16, 'n')), searched(2, "m")}));
  EXPECT_EQ(read_datagram(message(6, 5, 13, 1, 1, Bytes(96, 'n')), kToServer),
            (Messages{searched(1, std::string(95, 'n'), true)}));
}

// Equal names must be equal words, whatever a client leaves behind the terminator.
TEST(CaDatagram, NothingBehindTheTerminatorIsKept) {
  for (std::size_t length = 0; length < 96; ++length) {
    Bytes payload(128, 0xFF);
    for (std::size_t i = 0; i < length; ++i) payload[i] = i % 2 == 0 ? 0x80 : 0x01;
    payload[length] = 0;
    __u64 words[IOCX_CA_SEARCHED_NAME / 8];
    EXPECT_EQ(iocx_ca_read_name(words, payload.data(), 128), 0) << length;
    const auto* bytes = reinterpret_cast<const unsigned char*>(words);
    for (std::size_t i = 0; i < IOCX_CA_SEARCHED_NAME; ++i)
      ASSERT_EQ(bytes[i], i < length ? payload[i] : 0) << length << " " << i;
  }
}

TEST(CaAddress, TellsLoopback) {
  EXPECT_TRUE(is_loopback(iocx_ca_address{{127, 0, 0, 1}}));
  EXPECT_TRUE(is_loopback(iocx_ca_address{{127, 9, 0, 1}}));
  EXPECT_FALSE(is_loopback(iocx_ca_address{{10, 0, 0, 127}}));
}

}  // namespace
