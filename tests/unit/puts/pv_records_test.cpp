#include "puts/inventory/pv_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace ioc_exporter::ca {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

IocFacts ioc(const std::string& name, const std::string& record) {
  auto database = std::make_shared<Database>();
  database->types = {"ao"};
  database->records = {{0x1000, record, 0}};
  database->aliases = {{"Alias", 0}};
  IocFacts sample;
  sample.name = name;
  sample.up = true;
  sample.database = database;
  return sample;
}

PutSample put(const std::string& ioc, const std::string& pv) {
  return {ioc, pv, "c", "u", "h", PutOp::write, 1, 0};
}

std::vector<std::string> texts(const std::vector<PvSample>& pvs) {
  std::vector<std::string> all;
  for (const PvSample& pv : pvs)
    all.push_back(pv.ioc + " " + pv.pv + " " + pv.record + "." + pv.field);
  return all;
}

TEST(PvRecords, OnceForEachPvThatLeadsToARecord) {
  PvRecords records;
  EXPECT_THAT(
      texts(records.resolve({ioc("a", "R"), ioc("b", "S")},
                            {put("a", ""), put("a", "Alias.DESC$"), put("a", "R"), put("a", "R"),
                             put("a", "S"), put("b", "R"), put("b", "S.{}"), put("c", "R")})),
      ElementsAre("a Alias.DESC$ R.DESC", "a R R.VAL", "b S.{} S.VAL"));
}

TEST(PvRecords, FollowTheDatabase) {
  PvRecords records;
  IocFacts running = ioc("a", "R");
  EXPECT_THAT(texts(records.resolve({running}, {put("a", "R")})), ElementsAre("a R R.VAL"));
  running.database = ioc("a", "S").database;
  EXPECT_THAT(texts(records.resolve({running}, {put("a", "R"), put("a", "S")})),
              ElementsAre("a S S.VAL"));
  running.up = false;
  EXPECT_THAT(records.resolve({running}, {put("a", "S")}), IsEmpty());
  running.up = true;
  running.database.reset();
  EXPECT_THAT(records.resolve({running}, {put("a", "S")}), IsEmpty());
  EXPECT_THAT(records.resolve({}, {put("a", "S")}), IsEmpty());
}

}  // namespace
}  // namespace ioc_exporter::ca
