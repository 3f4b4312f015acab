#include "puts/pva/put_labels.h"

#include <gtest/gtest.h>

#include <cstring>

namespace ioc_exporter::puts {
namespace {

TEST(PvaPutLabels, AddressWithoutPort) {
  EXPECT_EQ(address_of_peer("192.0.2.7:41234"), "192.0.2.7");
  EXPECT_EQ(address_of_peer("192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(address_of_peer("[2001:db8::1]:41234"), "2001:db8::1");
  EXPECT_EQ(address_of_peer("2001:db8::1"), "2001:db8::1");
  EXPECT_EQ(address_of_peer("[2001:db8::1"), "2001:db8::1");
  EXPECT_EQ(address_of_peer("[::ffff:10.0.0.7]:41234"), "10.0.0.7");
  EXPECT_EQ(address_of_peer("[2001:DB8:0::1]:41234"), "2001:db8::1");
  EXPECT_EQ(address_of_peer("["), "");
  EXPECT_EQ(address_of_peer(""), "");
}

TEST(PvaPutLabels, UserAsAccessSecurityHasIt) {
  EXPECT_EQ(user_of("ca", "operator"), "operator");
  // A claimed name is no "x509/root".
  EXPECT_EQ(user_of("ca", "x509/root"), "root");
  EXPECT_EQ(user_of("x509", "root"), "x509/root");
  EXPECT_EQ(user_of("anonymous", "anonymous"), "anonymous/anonymous");
  EXPECT_EQ(user_of("", "krb/operator"), "krb/operator");
  EXPECT_EQ(user_of("ca", "operator/"), "");
}

TEST(PvaPutLabels, ReadsAnEntry) {
  iocx_pva_key key{};
  std::strcpy(key.name, "G:group");
  std::strcpy(key.user, "operator");
  std::strcpy(key.method, "ca");
  std::strcpy(key.peer, "127.0.0.1:5");
  EXPECT_EQ(labels_of(3, key),
            (PutLabels{3, "G:group", "127.0.0.1", "operator", "127.0.0.1", false, Protocol::pva}));
  std::memset(key.name, 'n', sizeof key.name);  // nothing ends it
  EXPECT_EQ(labels_of(3, key).pv, std::string(sizeof key.name, 'n'));
}

}  // namespace
}  // namespace ioc_exporter::puts
