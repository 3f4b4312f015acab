#include "records/probe/process.h"

#include <gtest/gtest.h>

namespace ioc_exporter::records {
namespace {

TEST(AttachPolicy, PerProcessWhileFewAreWatched) {
  for (std::size_t watched = 1; watched <= 4; ++watched)
    EXPECT_EQ(choose_attachment(Attachment::per_process, watched), Attachment::per_process);
  EXPECT_EQ(choose_attachment(Attachment::per_process, 5), Attachment::all_processes);
}

TEST(AttachPolicy, ARestartDoesNotSwitchToAndFro) {
  EXPECT_EQ(choose_attachment(Attachment::all_processes, 4), Attachment::all_processes);
  EXPECT_EQ(choose_attachment(Attachment::all_processes, 2), Attachment::per_process);
}

// The kernel does not find its way to that process alone.
TEST(AttachPolicy, ForAllWhenAMainThreadHasEnded) {
  for (const Attachment current : {Attachment::per_process, Attachment::all_processes})
    for (const std::size_t paused : {0u, 1u})
      EXPECT_EQ(choose_attachment(current, 1, paused, true), Attachment::all_processes);
}

TEST(AttachPolicy, APausedOneIsLeftOutByAttachingTheOthersAlone) {
  EXPECT_EQ(choose_attachment(Attachment::all_processes, kMostBesidePaused, 1),
            Attachment::per_process);
  EXPECT_EQ(choose_attachment(Attachment::all_processes, kMostBesidePaused + 1, 1),
            Attachment::all_processes);
}

}  // namespace
}  // namespace ioc_exporter::records
