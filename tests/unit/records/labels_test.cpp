#include "records/families/labels.h"

#include <gtest/gtest.h>

#include "exposition/text_encoder.h"

namespace ioc_exporter::records {
namespace {

std::shared_ptr<const Database> database(std::vector<std::string> names) {
  Database made;
  for (std::string& name : names)
    made.records.push_back({0x1000 * (made.records.size() + 1), std::move(name), 0});
  return std::make_shared<const Database>(std::move(made));
}

IocSample ioc(std::string name, std::shared_ptr<const Database> records) {
  IocSample sample;
  sample.name = std::move(name);
  sample.database = std::move(records);
  return sample;
}

TEST(RecordLabels, AreThoseOfEachRecordAndOneWithoutAName) {
  const auto records = database({"A", "q\"uote", "\xFF", "B"});
  const RecordLabels labels("i\\c", records.get(), exposition::TextEncoder());
  ASSERT_EQ(labels.records(), 4u);
  EXPECT_EQ(labels.of(0).bytes, R"(ioc="i\\c",record="A")");
  EXPECT_EQ(labels.of(1).bytes, R"(ioc="i\\c",record="q\"uote")");
  EXPECT_EQ(labels.of(2).bytes, R"(ioc="i\\c",record="\\xFF")");
  EXPECT_EQ(labels.of(3).bytes, R"(ioc="i\\c",record="B")");
  EXPECT_EQ(labels.of(4).bytes, R"(ioc="i\\c",record="")");
  EXPECT_EQ(labels.of(RecordSample::kUnknown).bytes, R"(ioc="i\\c",record="")");
  EXPECT_EQ(RecordLabels("i", nullptr, exposition::TextEncoder()).of(0).bytes,
            R"(ioc="i",record="")");
}

TEST(LabelCache, KeepsThemWhileTheDatabaseIsTheSame) {
  LabelCache cache;
  const exposition::TextEncoder encoder;
  IocSample sample = ioc("i", database({"A"}));
  const auto first = cache.of(sample, encoder);
  EXPECT_EQ(cache.of(sample, encoder), first);
  cache.drop_gone();
  EXPECT_EQ(cache.of(sample, encoder), first);
  EXPECT_NE(cache.of(ioc("j", sample.database), encoder), first);
  sample.database = database({"B"});
  EXPECT_EQ(cache.of(sample, encoder)->of(0).bytes, R"(ioc="i",record="B")");
}

TEST(LabelCache, ForgetsWhatIsGone) {
  LabelCache cache;
  const exposition::TextEncoder encoder;
  IocSample sample = ioc("i", database({"A"}));
  const std::weak_ptr<const RecordLabels> labels = cache.of(sample, encoder);
  cache.drop_gone();
  EXPECT_FALSE(labels.expired());
  sample.database.reset();
  cache.drop_gone();
  EXPECT_TRUE(labels.expired());
}

}  // namespace
}  // namespace ioc_exporter::records
