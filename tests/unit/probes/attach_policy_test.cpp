#include "probes/attach_policy.h"

#include <gtest/gtest.h>

namespace ioc_exporter::probes {
namespace {

TEST(AttachPolicy, PerProcessWhileFewAreWatched) {
  for (std::size_t watched = 1; watched <= kMostPerProcess; ++watched)
    EXPECT_EQ(choose_attachment(Attachment::per_process, watched), Attachment::per_process);
  EXPECT_EQ(choose_attachment(Attachment::per_process, kMostPerProcess + 1),
            Attachment::all_processes);
}

TEST(AttachPolicy, ARestartDoesNotSwitchToAndFro) {
  EXPECT_EQ(choose_attachment(Attachment::all_processes, kMostPerProcess),
            Attachment::all_processes);
  EXPECT_EQ(choose_attachment(Attachment::all_processes, kFewestForAll), Attachment::per_process);
}

}  // namespace
}  // namespace ioc_exporter::probes
