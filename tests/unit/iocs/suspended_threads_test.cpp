#include "iocs/memory/variables.h"

#include <gmock/gmock.h>

#include <cstring>

#include "database_image.h"
#include "iocs/memory/base_layout.h"
#include "support/value_of.h"
#include "variables_image.h"

namespace ioc_exporter::iocs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Where a version of Base has what, in bytes after ThreadState; joinable 0: it has none.
struct Version {
  const char* name;
  std::size_t state;
  std::size_t priority, joinable, text;
  bool text_is_pointer;
};
constexpr Version kVersions[] = {
    {"3_14", layout::kThreadState3_14, 16, 0, 24, true},
    {"3_15", layout::kThreadState3_15, 16, 0, 20, false},
    {"7_0_7", layout::kThreadState7_0_3_1, 16, 20, 24, false},
    {"7_0_8", layout::kThreadState7_0_3_1, 20, 24, 28, false},
    {"7_0_10", layout::kThreadState7_0_3_1, 24, 28, 32, false},
};

class SuspendedThreads : public testing::TestWithParam<Version> {
 protected:
  struct alignas(8) Thread {
    layout::EllNode node;
    char rest[256];
  };

  SuspendedThreads() : memory_(own_memory()) {
    image_.add("pthreadList", list_);
    add("_main_", false, 0);
    add("cbLow", false, 59);
    add("scan-0.1", false, 66);
  }

  template <class T>
  void put(Thread& thread, std::size_t at, const T& value) {
    std::memcpy(reinterpret_cast<char*>(&thread) + at, &value, sizeof value);
  }

  Thread& add(const char* name, bool suspended, std::uint32_t priority) {
    const Version& version = GetParam();
    Thread& thread = threads_.emplace_back();
    std::memset(static_cast<void*>(&thread), 0, sizeof thread);
    const std::int32_t epics = priority == 0 ? 0 : 1;
    // Between the state and the priority stand flags like isRunning.
    for (std::size_t at = 16; at < version.priority; at += 4)
      put(thread, version.state + at, std::int32_t{1});
    put(thread, version.state, layout::ThreadState{suspended ? 1 : 0, epics, epics, 1});
    put(thread, version.state + version.priority, priority);
    put(thread, version.state - 8, address_of(&thread));  // suspendEvent
    if (version.joinable != 0) put(thread, version.state + version.joinable, epics);
    if (version.text_is_pointer)
      put(thread, version.state + version.text, address_of(name));
    else
      std::strcpy(reinterpret_cast<char*>(&thread) + version.state + version.text, name);
    DatabaseImage::append(list_, thread);
    return thread;
  }

  std::vector<std::string> read() {
    return value_of(read_suspended_threads(*memory_, image_.places()));
  }

  std::unique_ptr<ProcMemory> memory_;
  VariablesImage image_;
  layout::EllList list_{};
  std::deque<Thread> threads_;
};

TEST_P(SuspendedThreads, AreToldByName) {
  EXPECT_THAT(read(), IsEmpty());
  add("waveform-7", true, 50);
  add("abc", true, 50);
  add("d", false, 50);
  EXPECT_THAT(read(), ElementsAre("abc", "waveform-7"));
}

TEST_P(SuspendedThreads, InvalidThreadsAreErrorsInWords) {
  const auto failure = [this] {
    return error_of(read_suspended_threads(*memory_, image_.places()));
  };
  Thread& odd = add("odd", false, 50);
  put(odd, GetParam().state, std::int32_t{2});
  EXPECT_EQ(failure(), "list of threads: they are laid out in no way that is known");
  put(odd, GetParam().state, std::int32_t{0});
  EXPECT_EQ(failure(), "");
  ++list_.count;
  EXPECT_EQ(failure(), "list of threads: 4 nodes walked, 5 announced");
  list_.count = -1;
  EXPECT_EQ(failure(), "list of threads: -1 nodes announced");
  image_.remove("pthreadList");
  EXPECT_EQ(failure(), "no symbol pthreadList was found");
}

TEST_P(SuspendedThreads, AllCopiesOfTheLibraryAreRead) {
  add("first", true, 50);
  const layout::EllList empty{};
  image_.add("pthreadList", empty);
  EXPECT_THAT(read(), ElementsAre("first"));
}

INSTANTIATE_TEST_SUITE_P(Bases, SuspendedThreads, testing::ValuesIn(kVersions),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace ioc_exporter::iocs
