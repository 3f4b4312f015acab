#include "puts/tap/enslaved_devices.h"

#include <gtest/gtest.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include <cstring>
#include <string>
#include <vector>

namespace {

using ioc_exporter::puts::read_enslaved_devices;
using Bytes = std::vector<std::byte>;

Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
template <class T>
Bytes bytes_of(const T& value) {
  Bytes bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}
Bytes attribute(int type, const Bytes& value) {
  rtattr header{};
  header.rta_type = static_cast<unsigned short>(type);
  header.rta_len = static_cast<unsigned short>(sizeof header + value.size());
  Bytes bytes = bytes_of(header) + value;
  bytes.resize((bytes.size() + 3) / 4 * 4);
  return bytes;
}
Bytes text(const std::string& value) {
  Bytes bytes(value.size() + 1);
  std::memcpy(bytes.data(), value.c_str(), bytes.size());
  return bytes;
}
Bytes message(std::uint16_t type, const Bytes& body) {
  nlmsghdr header{};
  header.nlmsg_type = type;
  header.nlmsg_len = static_cast<std::uint32_t>(sizeof header + body.size());
  return bytes_of(header) + body;
}
Bytes device(int index, const Bytes& attributes) {
  ifinfomsg info{};
  info.ifi_index = index;
  return message(RTM_NEWLINK, bytes_of(info) + attributes);
}
Bytes master(std::uint32_t index) {
  return attribute(IFLA_MASTER, bytes_of(index));
}
Bytes kind(const std::string& of_master) {
  return attribute(
      IFLA_LINKINFO | NLA_F_NESTED,
      attribute(IFLA_INFO_KIND, text("veth")) + attribute(IFLA_INFO_SLAVE_KIND, text(of_master)));
}
const Bytes kDone = message(NLMSG_DONE, bytes_of(0));

TEST(EnslavedDevices, AreThoseWithAMaster) {
  const Bytes answer =
      device(1, attribute(IFLA_IFNAME, text("lo"))) +
      device(4, attribute(IFLA_IFNAME, text("veth0")) + master(9) + kind("bridge")) +
      device(5, master(9)) + device(9, attribute(IFLA_IFNAME, text("br0")));
  std::set<std::uint32_t> devices;
  auto last = read_enslaved_devices(answer, devices);
  ASSERT_TRUE(last) << last.error().message();
  EXPECT_FALSE(*last);
  EXPECT_EQ(devices, (std::set<std::uint32_t>{4, 5}));
  last = read_enslaved_devices(device(6, master(9)) + kDone, devices);
  ASSERT_TRUE(last) << last.error().message();
  EXPECT_TRUE(*last);
  EXPECT_EQ(devices, (std::set<std::uint32_t>{4, 5, 6}));
}

TEST(EnslavedDevices, ADeviceOfAVrfIsNone) {
  std::set<std::uint32_t> devices;
  auto last = read_enslaved_devices(device(4, master(9) + kind("vrf")), devices);
  ASSERT_TRUE(last) << last.error().message();
  EXPECT_TRUE(devices.empty());
}

TEST(EnslavedDevices, TheKernelsErrorIsOurs) {
  std::set<std::uint32_t> devices;
  auto last = read_enslaved_devices(message(NLMSG_ERROR, bytes_of(-EPERM)), devices);
  ASSERT_FALSE(last);
  EXPECT_EQ(last.error().message(), "list network devices: Operation not permitted");
}

// Of a cut answer nothing is made up: every length either says so or gives whole devices only.
TEST(EnslavedDevices, AnAnswerMayBeCutAnywhere) {
  const Bytes answer = device(4, master(9) + kind("bridge")) + kDone;
  for (std::size_t size = 1; size < answer.size(); ++size) {
    std::set<std::uint32_t> devices;
    auto last = read_enslaved_devices(std::span(answer).first(size), devices);
    const bool whole = size == answer.size() - kDone.size();
    ASSERT_EQ(last.ok(), whole) << size;
    if (whole) {
      EXPECT_FALSE(*last);
    }
  }
  for (std::size_t at = 0; at < answer.size(); ++at) {  // and any length may be wrong
    for (const int value : {0, 1, 3, 4, 255}) {
      Bytes wrong = answer;
      wrong[at] = static_cast<std::byte>(value);
      std::set<std::uint32_t> devices;
      auto last = read_enslaved_devices(wrong, devices);
      if (last) {
        EXPECT_LE(devices.size(), 1u);
      }
    }
  }
}

}  // namespace
