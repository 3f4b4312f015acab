#include "iocs/elf/maps.h"

#include <gtest/gtest.h>

namespace ioc_exporter::iocs {
namespace {

TEST(Maps, OneLine) {
  const auto m = parse_mapping(
      "7fce35000000-7fce35085000 r-xp 0001f000 fe:00 247026                     /opt/a b/lib x.so");
  ASSERT_TRUE(m);
  EXPECT_EQ(m->start, 0x7fce35000000u);
  EXPECT_EQ(m->end, 0x7fce35085000u);
  EXPECT_EQ(m->offset, 0x1f000u);
  EXPECT_TRUE(m->executable);
  EXPECT_EQ(m->device, "fe:00");
  EXPECT_EQ(m->inode, 247026u);
  EXPECT_EQ(m->path, "/opt/a b/lib x.so");
  EXPECT_FALSE(m->deleted);
}

TEST(Maps, DeletedEscapedAnonymousAndSpecial) {
  const auto deleted = parse_mapping("1000-2000 r-xp 0 00:1f 7 /a\\012b (deleted)");
  ASSERT_TRUE(deleted);
  EXPECT_EQ(deleted->path, "/a\nb");
  EXPECT_TRUE(deleted->deleted);
  EXPECT_EQ(parse_mapping("1000-2000 rw-p 00000000 00:00 0 ")->path, "");
  EXPECT_EQ(parse_mapping("1000-2000 rw-p 00000000 00:00 0")->path, "");
  EXPECT_EQ(parse_mapping("1000-2000 r-xp 00000000 00:00 0    [vdso]")->path, "[vdso]");
  for (const char* bad : {"", "1000", "1000-", "1000-2000", "1000-2000 r-x", "x-y r-xp 0 0:0 0",
                          "1000-2000 r-xp zz 00:00 0", "1000-2000 r-xp 0 00:00"})
    EXPECT_FALSE(parse_mapping(bad)) << bad;
}

TEST(Maps, ModulesAreTheFirstExecutableMappingsOfFiles) {
  const auto modules = executable_modules(
      "400000-401000 r--p 00000000 fe:00 1 /bin/ioc\n"
      "401000-402000 r-xp 00001000 fe:00 1 /bin/ioc\n"
      "403000-404000 r-xp 00003000 fe:00 1 /bin/ioc\n"
      "500000-501000 r-xp 00000000 00:00 0 \n"
      "600000-601000 r-xp 00000000 fe:00 2 /lib/a.so\n"
      "600000-601000 r-xp 00000000 fe:00 3 /lib/a.so (deleted)\n"
      "7ff000-800000 r-xp 00000000 00:00 0 [vdso]\n"
      "900000-901000 r-xp 00000000 fe:00 9 /cut");
  ASSERT_EQ(modules.size(), 4u);
  EXPECT_EQ(modules[0].start, 0x401000u);
  EXPECT_EQ(modules[1].path, "/lib/a.so");
  EXPECT_TRUE(modules[2].deleted);
  EXPECT_EQ(modules[3].path, "/cut");
}

TEST(Maps, NamesInMapFilesAreNotPadded) {
  Mapping mapping;
  mapping.start = 0x400000;
  mapping.end = 0x48b000;
  EXPECT_EQ(map_files_name(mapping), "400000-48b000");
}

}  // namespace
}  // namespace ioc_exporter::iocs
