// Functions of a file that a description asks for, on a real library with its symbols and without.
#include <fcntl.h>
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "elf/function_ends.h"
#include "elf/function_search.h"
#include "support/value_of.h"

namespace ioc_exporter::elf {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Kind = FunctionWish::Kind;

FoundFunctions find(const std::vector<FunctionWish>& wishes, const char* path = TEST_DRIVER) {
  const UniqueFd fd(::open(path, O_RDONLY | O_CLOEXEC));
  // There and back as between the processes of the exporter.
  const auto sent = unpacked_wishes(packed(wishes));
  return value_of(unpacked_functions(packed(value_of(find_functions(fd.get(), path, sent)))));
}

TEST(FunctionSearch, NamesThatFitSeveralOrNoneAreProblems) {
  const auto found = find({{Kind::name, "twice"},
                           {Kind::cxx, "driver::Port::setValue"},
                           {Kind::name, "driver_wrote"},
                           {Kind::name, "other.c:twice"}});
  EXPECT_THAT(found.found, IsEmpty());
  EXPECT_THAT(found.problems[0], HasSubstr("2 functions are called so: add the source file"));
  EXPECT_THAT(found.problems[1], HasSubstr("2 functions are called so"));
  EXPECT_EQ(found.problems[2], "no function of the file is called so");
  EXPECT_EQ(found.problems[3], "no function of the file is called so");
}

TEST(FunctionSearch, VariablesOfASourceFile) {
  const auto found = find({{Kind::variable, "driver.c:work"},
                           {Kind::variable, "work"},
                           {Kind::variable, "driver_write"},
                           {Kind::name, "work"}});
  ASSERT_THAT(found.found, SizeIs(1));
  EXPECT_EQ(found.found[0].name, "work");
  EXPECT_EQ(found.found[0].code.size, sizeof(int));
  EXPECT_EQ(found.problems[1], "the file has several variables work");
  EXPECT_EQ(found.problems[2], "the file has no variable driver_write, or is stripped");
  EXPECT_EQ(found.problems[3], kNoSuchFunction);
  const auto stripped = find({{Kind::variable, "driver.c:work"}}, STRIPPED_DRIVER);
  EXPECT_EQ(stripped.problems[0], "the file has no variable work, or is stripped");
}

TEST(FunctionSearch, LongNamesAreNotDemangled) {
  EXPECT_EQ(demangled("_ZN6driver4Port4readEi"), "driver::Port::read(int)");
  EXPECT_EQ(demangled("driver_throw"), "");
  EXPECT_EQ(demangled("_Z1f" + std::string(1020, 'i')).size(), 1 + 1020 * 5);
  EXPECT_EQ(demangled("_Z1f" + std::string(1021, 'i')), "") << "above 1 KiB";
}

TEST(FunctionSearch, OffsetsNeedTheFilesBuildId) {
  const auto named = only(find({{Kind::name, "driver.c:twice"}}).found);
  const auto refused = find({{Kind::offset, "0011", named.code.file_offset}});
  ASSERT_THAT(refused.found, IsEmpty());
  const std::string problem = refused.problems[0];
  ASSERT_THAT(problem, HasSubstr("the file's build id is "));
  const auto at = problem.find("is ") + 3;
  const std::string build_id = problem.substr(at, problem.find(',') - at);
  const auto found = find({{Kind::offset, build_id, named.code.file_offset}}, STRIPPED_DRIVER);
  EXPECT_EQ(only(found.found).code, named.code);
  EXPECT_EQ(find({{Kind::offset, build_id, named.code.file_offset + 1}}).problems[0],
            "no function begins there");
}

TEST(FunctionSearch, StrippedFilesHaveTheirFunctionsForUnwinding) {
  const auto named = only(find({{Kind::name, "driver.c:twice"}}).found);
  const UniqueFd fd(::open(STRIPPED_DRIVER, O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(value_of(size_of_any_function_at(fd.get(), named.code.file_offset)), named.code.size);
  EXPECT_FALSE(size_of_any_function_at(fd.get(), named.code.file_offset + 4));
  EXPECT_FALSE(size_of_any_function_at(fd.get(), 1u << 30));
}

TEST(FunctionSearch, ResultsAreReadWhereNothingSetsThemAnyMore) {
  const auto wishes = {FunctionWish{Kind::name, "driver_write"},
                       {Kind::name, "driver_status"},
                       {Kind::name, "driver_sum"}};
  const UniqueFd fd(::open(TEST_DRIVER, O_RDONLY | O_CLOEXEC));
  for (const FoundFunction& one : find(wishes).found) {
    std::vector<CodeRange> parts{one.code};
    if (one.cold.size > 0) parts.push_back(one.cold);
    const auto ends = EndingFunction::find(fd.get(), parts, Work::nothing, Places::with_result);
    EXPECT_TRUE(ends) << one.name << ": " << error_of(ends);
  }
}

TEST(FunctionSearch, AJumpInALoopIsNoPlaceForABreakpoint) {
  const FoundFunction sum = only(find({{Kind::name, "driver_sum"}}).found);
  const UniqueFd fd(::open(TEST_DRIVER, O_RDONLY | O_CLOEXEC));
  const auto ends = [&](Places places) {
    return value_of(EndingFunction::find(fd.get(), std::vector{sum.code}, Work::nothing, places))
        ->ends();
  };
  EXPECT_NE(ends(Places::any), ends(Places::cheap));
  for (const FunctionEnd& end : ends(Places::any)) {
    EXPECT_EQ(end.condition, IOCX_END_ALWAYS);
    EXPECT_EQ(end.below, 0u);
  }
}

}  // namespace
}  // namespace ioc_exporter::elf
