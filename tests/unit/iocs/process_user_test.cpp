#include "iocs/find/process_signs.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "target_process.h"

namespace ioc_exporter::iocs {
namespace {

TEST(UserOf, IsTheRealUser) {
  EXPECT_EQ(user_of(RootedFs("/"), ::getpid()), ::getuid());
  TemporaryFolder folder;
  folder.write("/proc/7/status",
               "Name:\tUid:\t5\nUmask:\t0022\nUid:\t1001\t0\t0\t0\nGid:\t9\t0\t0\t0\n");
  const RootedFs fs(folder.path());
  EXPECT_EQ(user_of(fs, 7), 1001u);
  EXPECT_EQ(user_of(fs, 8), std::nullopt);
}

TEST(UserNames, ComeFromTheFileAndChangeWithIt) {
  TemporaryFolder folder;
  UserNames names{RootedFs(folder.path())};
  EXPECT_EQ(names.name_of(1001), "1001") << "no file";
  folder.write("/etc/passwd",
               "root:x:0:0:root:/root:/bin/sh\nioc:x:1001:9::/:/bin/sh\nalias:x:1001:9::/:/\n"
               "77:x:1002:1::/:/\n+ldap::::::\nshort\nbad:x:1003y:1::/:/\n");
  EXPECT_EQ(names.name_of(0), "root");
  EXPECT_EQ(names.name_of(1001), "ioc") << "the first of two names";
  EXPECT_EQ(names.name_of(1002), "1002") << "77 would pass for another user's number";
  EXPECT_EQ(names.name_of(1003), "1003");
  EXPECT_EQ(names.name_of(kNoUser), "");
  folder.write("/etc/passwd.new", "mallory:x:1001:9::/:/bin/sh\n");
  std::filesystem::rename(folder.path("/etc/passwd.new"), folder.path("/etc/passwd"));
  EXPECT_EQ(names.name_of(1001), "mallory");
}

}  // namespace
}  // namespace ioc_exporter::iocs
