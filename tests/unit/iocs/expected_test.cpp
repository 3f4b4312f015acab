// The IOCs that a site expects, and the list of those that run.
#include "iocs/options.h"

#include <gtest/gtest.h>

#include "iocs/iocs_command.h"
#include "target_process.h"

namespace ioc_exporter::iocs {
namespace {

TEST(Expected, NamesOfOptionAndFile) {
  TemporaryFolder folder;
  folder.write("/expected", "# of this beam line\n ps  # power supplies\n\nvac\r\nother-1\nps\n");
  ExpectedOptions options{{"rf", "vac"}, folder.path("/expected"), *Pattern::compile("[pv].*")};
  const auto names = read_expected(options);
  ASSERT_TRUE(names) << names.error().message();
  EXPECT_EQ(*names, (std::vector<std::string>{"ps", "rf", "vac"}));
  folder.write("/expected", "ps\na\x01z\n");
  EXPECT_NE(read_expected(options).error().message().find("line 2"), std::string::npos);
  options.file = folder.path("/none");
  EXPECT_FALSE(read_expected(options));
}

TEST(Expected, TheCommandKnowsLearnOnly) {
  for (const char* word : {"forget", "list"}) EXPECT_EQ(iocs_command(1, &word).status, 2) << word;
  EXPECT_EQ(iocs_command(0, nullptr).status, 2);
}

TEST(IocList, IsReadAsItWasWritten) {
  const IocList list = {{"a \"b\"", "epics", true, 1.5, "", true},
                        {"c", "u", false, 0, "epics", false}};
  const auto read = ioc_list_from_json(to_json(list));
  ASSERT_TRUE(read && read->size() == 2);
  EXPECT_EQ((*read)[0].name, "a \"b\"");
  EXPECT_TRUE((*read)[0].up && (*read)[0].expected);
  EXPECT_EQ((*read)[1].contested_with, "epics");
  EXPECT_FALSE(ioc_list_from_json("{}"));
}

}  // namespace
}  // namespace ioc_exporter::iocs
