#include "iocs/memory/record_names.h"

#include <gtest/gtest.h>

#include <string>

namespace ioc_exporter::iocs {
namespace {

std::string found(const RecordNames& names, std::string_view name) {
  const RecordIdentity* record = names.find(name);
  return record == nullptr ? "none" : record->name;
}

TEST(RecordNames, FindsRecordsAndAliases) {
  auto database = std::make_shared<Database>();
  database->types = {"ao"};
  for (int i = 0; i < 211; ++i)
    database->records.push_back(
        {0x1000u + static_cast<unsigned>(i) * 8u, std::string("R").append(std::to_string(i)), 0});
  database->records.push_back({0x9000, "caf_", 0});  // Latin-1 in the IOC's memory
  database->aliases = {{"Alias", 7}, {"R300", 0}};
  const RecordNames names(database);
  for (const RecordIdentity& record : database->records)
    EXPECT_EQ(names.find(record.name), &record);
  EXPECT_EQ(found(names, "Alias"), "R7");
  EXPECT_EQ(found(names, "R300"), "R0");
  EXPECT_EQ(found(names, "caf\xE9"), "caf_");
  for (const char* name : {"", "R", "R211", "alias", "Aliases", "R7.VAL"})
    EXPECT_EQ(found(names, name), "none") << name;
}

TEST(RecordNames, OfNothing) {
  EXPECT_EQ(found(RecordNames(std::make_shared<Database>()), "R"), "none");
}

}  // namespace
}  // namespace ioc_exporter::iocs
