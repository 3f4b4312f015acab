// Labels of records, and samples by record.
#include <gtest/gtest.h>

#include "exposition/text_encoder.h"
#include "records/families/record_families.h"
#include "records/families/samples.h"

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

TEST(LabelCache, ForgetsIocsThatAreGone) {
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

iocx_record_stats stats(std::uint64_t count) {
  iocx_record_stats stats{};
  stats.buckets[7] = count;
  stats.sum_ns = 100 * count;
  stats.self_ns = 10 * count;
  stats.processed = count + 1;
  stats.untimed = 1;
  stats.skipped_active = 2;
  stats.skipped_disabled = 3;
  return stats;
}

TEST(RecordSamples, HaveTheIndexOfTheirRecordOrAreUnknown) {
  const Database database{{"calc"}, {{0x1000, "A", 0}, {0x2000, "B", 0}, {0x3000, "C", 0}}, {}};
  RecordSamples made(database);
  made.add(0x3000, stats(5));
  made.add(0x1000, stats(7));
  EXPECT_FALSE(made.any_unknown());
  made.add(0x2800, stats(6));
  EXPECT_TRUE(made.any_unknown());
  const auto samples = made.take();
  ASSERT_EQ(samples.size(), 3u);
  EXPECT_EQ(samples[0].record, 2u);
  EXPECT_EQ(samples[1].record, 0u);
  EXPECT_EQ(samples[1].buckets[7], 7u);
  EXPECT_EQ(samples[1].sum_ns, 700u);
  EXPECT_EQ(samples[1].self_ns, 70u);
  EXPECT_EQ(samples[1].processed, 8u);
  EXPECT_EQ(samples[1].skipped_active, 2u);
  EXPECT_EQ(samples[1].skipped_disabled, 3u);
  EXPECT_EQ(samples[2].record, RecordSample::kUnknown);
  EXPECT_EQ(samples[2].buckets[7], 6u);
}

}  // namespace
}  // namespace ioc_exporter::records
