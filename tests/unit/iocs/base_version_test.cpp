#include "iocs/elf/base_version.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/unique_fd.h"

namespace ioc_exporter::iocs {
namespace {

using namespace std::string_literals;

TEST(BaseVersion, InBytes) {
  EXPECT_EQ(base_version_in("\0EPICS R3.15.9\0"s), "3.15.9");
  EXPECT_EQ(base_version_in("\0EPICS 7.0.10.1-DEV\0"s), "7.0.10.1-DEV");
  EXPECT_EQ(base_version_in("@(#)EPICS R3.14.12.8-rc1, Common Utilities"), "3.14.12.8-rc1");
  EXPECT_EQ(base_version_in("EPICS Release %s. EPICS V4 EPICS "), "");
  EXPECT_EQ(base_version_in("needs EPICS 3.14.0 or later\0EPICS 7.0.8\0"s), "7.0.8");
}

TEST(BaseVersion, InAFileAlsoAcrossChunks) {
  for (const std::size_t before : {0x1000u, (1u << 20) - 5u, (1u << 20) + 1u}) {
    const UniqueFd fd(::memfd_create("library", MFD_CLOEXEC));
    const std::string bytes = std::string(before, '\0') + "EPICS R3.15.9\0tail"s;
    ASSERT_EQ(::write(fd.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    const LoadSegment all{0, 0, bytes.size(), false};
    EXPECT_EQ(base_version_of_file(fd.get(), std::span(&all, 1)), "3.15.9") << before;
    const LoadSegment beyond{0, 0, ~0ull, true};
    EXPECT_EQ(base_version_of_file(fd.get(), std::span(&beyond, 1)), "3.15.9") << before;
    const LoadSegment other{0, 0, 100, false};
    EXPECT_EQ(base_version_of_file(fd.get(), std::span(&other, 1)), "") << before;
  }
}

TEST(BaseVersion, FromALibrarysName) {
  EXPECT_EQ(base_version_from_name("/x/libdbCore.so.3.15.9"), "3.15.9");
  EXPECT_EQ(base_version_from_name("/x/libdbCore.so.3.23.1"), "database 3.23.1");
  EXPECT_EQ(base_version_from_name("/x/libdbCore.so.7.0.10.99.0"), "7.0.10");
  EXPECT_EQ(base_version_from_name("/x/libdbCore.so"), "");
  EXPECT_EQ(base_version_from_name("/x.so.7.0/softIoc"), "");
}

}  // namespace
}  // namespace ioc_exporter::iocs
