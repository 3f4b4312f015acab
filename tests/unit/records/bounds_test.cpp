#include "records/families/bounds.h"

#include <gmock/gmock.h>

#include <sstream>

#include "support/snapshot.h"
#include "unit/app/sample_snapshot.h"

namespace ioc_exporter::records {
namespace {

std::shared_ptr<const Database> database(const std::vector<std::string>& names) {
  auto made = std::make_shared<Database>();
  made->types = {"ao"};
  for (const std::string& name : names)
    made->records.push_back({0x1000 * (made->records.size() + 1), name, 0});
  return made;
}

// An IOC whose record i was processed counts[i] times.
IocSample ioc(const std::string& name, std::shared_ptr<const Database> records,
              const std::vector<std::uint64_t>& counts, std::int32_t pid = 7) {
  IocSample sample;
  sample.name = name;
  sample.up = true;
  sample.pid = pid;
  sample.database = std::move(records);
  for (std::uint32_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    RecordSample& record = sample.records.emplace_back();
    record.record = i;
    record.processed = counts[i];
    record.sum_ns = counts[i] * 10;
    record.buckets[5] = counts[i];
    record.puts[1] = counts[i] * 2;
  }
  return sample;
}

using Counts = std::map<std::string, std::uint64_t>;

// Processings by name; a group's has a "group " before it, an unknown one is "?".
Counts counts_of(const IocSample& sample) {
  Counts counts;
  for (const RecordSample& record : sample.records) {
    std::string name = "?";
    if (record.record < sample.database->records.size()) {
      const RecordIdentity& identity = sample.database->records[record.record];
      name = identity.name;
      if (identity.group) name.insert(0, "group ");
    }
    EXPECT_TRUE(counts.emplace(name, record.processed).second) << name;
    EXPECT_EQ(record.buckets[5], record.processed) << name;
    EXPECT_EQ(record.sum_ns, record.processed * 10) << name;
    EXPECT_EQ(record.puts[1], record.processed * 2) << name;
  }
  return counts;
}

exposition::BoundsOptions limit(std::size_t series,
                                std::size_t per_ioc = exposition::SeriesLimit::kNone) {
  exposition::BoundsOptions options;
  options.limits.records.series = series;
  options.limits.records.per_ioc = per_ioc;
  return options;
}

exposition::BoundsOptions groups(const std::string& match, const std::string& group = "\\1") {
  exposition::BoundsOptions options;
  options.groups = {{*Pattern::compile(match), group}};
  return options;
}

class RecordBoundsTest : public ::testing::Test {
 protected:
  void use(const exposition::BoundsOptions& options) { bounds_.configure(options); }
  Counts apply(IocSample sample) {
    std::vector<IocSample> iocs = {std::move(sample)};
    bounds_.apply(iocs);
    last_ = iocs[0];
    return counts_of(last_);
  }

  RecordBounds bounds_;
  IocSample last_;
};

TEST_F(RecordBoundsTest, WithinTheLimitTheDatabaseIsTheSameObject) {
  const auto records = database({"a", "b"});
  use(limit(2));
  EXPECT_EQ(apply(ioc("ps", records, {3, 5})), (Counts{{"a", 3}, {"b", 5}}));
  EXPECT_EQ(last_.database, records);
  EXPECT_EQ(bounds_.limited(), 0u);
}

TEST_F(RecordBoundsTest, RecordsOverTheLimitAreSummed) {
  const auto records = database({"a", "b", "c", "d"});
  use(limit(2));
  IocSample sample = ioc("ps", records, {3, 5, 7, 11});
  RecordSample unknown;
  unknown.processed = 13;
  unknown.sum_ns = 130;
  unknown.buckets[5] = 13;
  unknown.puts[1] = 26;
  sample.records.push_back(unknown);
  EXPECT_EQ(apply(sample), (Counts{{"a", 3}, {"b", 5}, {"(other)", 18}, {"?", 13}}));
  EXPECT_EQ(bounds_.limited(), 2u);
  EXPECT_EQ(last_.database->type_totals, std::vector<std::uint64_t>{4});
  const auto shown = last_.database;
  apply(ioc("ps", records, {3, 5, 7, 12}));
  EXPECT_EQ(last_.database, shown);  // made once
}

TEST_F(RecordBoundsTest, OneIocCannotUseUpTheRoomOfOthers) {
  use(limit(10, 2));
  std::vector<IocSample> iocs = {ioc("big", database({"a", "b", "c"}), {1, 2, 3}),
                                 ioc("small", database({"x"}), {4})};
  bounds_.apply(iocs);
  EXPECT_EQ(counts_of(iocs[0]), (Counts{{"a", 1}, {"b", 2}, {"(other)", 3}}));
  EXPECT_EQ(counts_of(iocs[1]), (Counts{{"x", 4}}));
}

TEST_F(RecordBoundsTest, RecordsThatAreLeftOutAreInNoSum) {
  exposition::BoundsOptions options = limit(1);
  options.records.include = *Pattern::compile("SR:.*");
  options.records.exclude = *Pattern::compile(".*:Clock");
  use(options);
  EXPECT_EQ(apply(ioc("ps", database({"SR:a", "SR:Clock", "BR:b", "SR:c"}), {3, 5, 7, 11})),
            (Counts{{"SR:a", 3}, {"(other)", 11}}));
  EXPECT_EQ(bounds_.limited(), 1u);
  EXPECT_EQ(last_.database->type_totals, std::vector<std::uint64_t>{4});
}

TEST_F(RecordBoundsTest, RecordsAreShownByGroups) {
  use(groups("(SR-[0-9]+):.*", "sector \\1"));
  EXPECT_EQ(apply(ioc("ps", database({"SR-1:a", "x", "SR-2:a", "SR-1:b", "SR-1:idle"}),
                      {3, 5, 7, 11, 0})),
            (Counts{{"x", 5}, {"group sector SR-1", 14}, {"group sector SR-2", 7}}));
  EXPECT_EQ(bounds_.limited(), 0u);
}

TEST_F(RecordBoundsTest, GroupsAreBoundedToo) {
  exposition::BoundsOptions options = groups("([^:]*):.*");
  options.limits.records.series = 2;
  use(options);
  EXPECT_EQ(apply(ioc("ps", database({"a:1", "b:1", "c:1", "d:1", "a:2"}), {3, 5, 7, 11, 13})),
            (Counts{{"group a", 16}, {"group b", 5}, {"group (other)", 18}}));
  EXPECT_EQ(bounds_.limited(), 2u);
}

TEST_F(RecordBoundsTest, ANameThatLooksLikeTheSumIsInIt) {
  use(limit(2));
  EXPECT_EQ(apply(ioc("ps", database({"(other)", "b", "c", "d"}), {3, 5, 7, 11})),
            (Counts{{"b", 5}, {"c", 7}, {"(other)", 14}}));
  exposition::BoundsOptions options = groups(".:(.*)");
  use(options);
  EXPECT_EQ(apply(ioc("vac", database({"a:(other)", "a:b"}), {3, 5})),
            (Counts{{"group (other)", 3}, {"group b", 5}}));
}

TEST_F(RecordBoundsTest, AReloadMovesNoCountsBetweenSeries) {
  const auto records = database({"a", "b", "c", "d"});
  use(limit(2));
  apply(ioc("ps", records, {3, 5, 7, 11}));
  // More room: c gets its own series, with all its counts; the sum goes on from where it was.
  use(limit(3));
  EXPECT_EQ(apply(ioc("ps", records, {3, 5, 8, 12})),
            (Counts{{"a", 3}, {"b", 5}, {"c", 8}, {"(other)", 20}}));
  EXPECT_EQ(apply(ioc("ps", records, {3, 5, 100, 13})),
            (Counts{{"a", 3}, {"b", 5}, {"c", 100}, {"(other)", 21}}));
  // Less: those that have series keep them.
  use(limit(1));
  EXPECT_EQ(apply(ioc("ps", records, {3, 5, 100, 13})),
            (Counts{{"a", 3}, {"b", 5}, {"c", 100}, {"(other)", 21}}));
  // All have room, then not again: the sum goes on.
  use(limit(4));
  EXPECT_EQ(apply(ioc("ps", records, {3, 5, 100, 14})).count("(other)"), 0u);
}

TEST_F(RecordBoundsTest, GroupsThatChangeGoOnFromWhereTheyWere) {
  const auto records = database({"a:1", "a:2", "b:1"});
  use(groups("(a):.*"));
  EXPECT_EQ(apply(ioc("ps", records, {3, 5, 7})), (Counts{{"group a", 8}, {"b:1", 7}}));
  use(groups("(a):1"));
  EXPECT_EQ(apply(ioc("ps", records, {4, 6, 7})),
            (Counts{{"group a", 10}, {"a:2", 6}, {"b:1", 7}}));
  EXPECT_EQ(apply(ioc("ps", records, {5, 100, 7})),
            (Counts{{"group a", 11}, {"a:2", 100}, {"b:1", 7}}));
  use(groups("([ab]):.*"));
  EXPECT_EQ(apply(ioc("ps", records, {5, 101, 8})), (Counts{{"group a", 11}, {"group b", 8}}));
  EXPECT_EQ(apply(ioc("ps", records, {6, 102, 9})), (Counts{{"group a", 13}, {"group b", 9}}));
}

TEST_F(RecordBoundsTest, ADatabaseThatGrewKeepsItsSeries) {
  use(limit(2));
  apply(ioc("ps", database({"b", "c", "d"}), {5, 7, 11}));
  EXPECT_EQ(apply(ioc("ps", database({"a", "b", "c", "d"}), {3, 5, 7, 12})),
            (Counts{{"b", 5}, {"c", 7}, {"(other)", 15}}));
}

TEST_F(RecordBoundsTest, AnIocThatCameAgainBeginsAnew) {
  use(limit(1));
  apply(ioc("ps", database({"a", "b"}), {3, 500}));
  EXPECT_EQ(apply(ioc("ps", database({"a", "b"}), {1, 2}, 8)), (Counts{{"a", 1}, {"(other)", 2}}));
}

TEST_F(RecordBoundsTest, RoomOfAnIocThatIsGoneIsGivenToOthers) {
  use(limit(3));
  const auto small = database({"x", "y"});
  std::vector<IocSample> both = {ioc("big", database({"a", "b"}), {1, 2}),
                                 ioc("small", small, {3, 4})};
  bounds_.apply(both);
  EXPECT_EQ(counts_of(both[1]), (Counts{{"x", 3}, {"(other)", 4}}));
  apply(ioc("small", small, {3, 4}));
  EXPECT_EQ(apply(ioc("small", small, {3, 5})), (Counts{{"x", 3}, {"y", 5}}));
  EXPECT_EQ(bounds_.limited(), 0u);
}

TEST_F(RecordBoundsTest, RecordsThatWereNotReadForOnceDoNotMakeTheSumShrink) {
  const auto records = database({"a", "b", "c"});
  use(limit(1));
  apply(ioc("ps", records, {3, 5, 7}));
  EXPECT_EQ(apply(ioc("ps", records, {})), (Counts{{"(other)", 12}}));
  EXPECT_EQ(apply(ioc("ps", records, {3, 6, 7})), (Counts{{"a", 3}, {"(other)", 13}}));
}

std::shared_ptr<const Database> of_types(
    const std::vector<std::pair<std::string, std::uint32_t>>& records) {
  auto made = std::make_shared<Database>();
  made->types = {"ao", "calc"};
  for (const auto& [name, type] : records)
    made->records.push_back({0x1000 * (made->records.size() + 1), name, type});
  return made;
}

TEST(RecordBoundsByType, RecordsAreSummedByType) {
  RecordBounds bounds(true);
  exposition::BoundsOptions options = groups("(a):.*");  // groups are not of one type
  options.records.exclude = *Pattern::compile("x");
  bounds.configure(options);
  const auto records = of_types({{"a:1", 0}, {"b", 1}, {"a:2", 1}, {"x", 1}, {"lost", 7}});
  const auto apply = [&](const std::vector<std::uint64_t>& counts) {
    std::vector<IocSample> iocs = {ioc("ps", records, counts)};
    CompletionSample completion;
    completion.record = 2;
    iocs[0].completions = {completion};
    bounds.apply(iocs);
    EXPECT_EQ(record_label(iocs[0], iocs[0].completions[0].record).name, "record_type");
    for (const RecordIdentity& one : iocs[0].database->records) EXPECT_TRUE(one.all_of_type);
    return counts_of(iocs[0]);
  };
  EXPECT_EQ(apply({3, 5, 7, 100, 11}),
            (Counts{{"group ao", 3}, {"group calc", 12}, {"group ", 11}}));
  // One that is not read for once, and a reload that leaves another one out, take nothing away.
  EXPECT_EQ(apply({3, 5, 0, 100, 11}),
            (Counts{{"group ao", 3}, {"group calc", 12}, {"group ", 11}}));
  options.records.exclude = *Pattern::compile("x|b");
  bounds.configure(options);
  EXPECT_EQ(apply({4, 6, 8, 100, 11}),
            (Counts{{"group ao", 4}, {"group calc", 14}, {"group ", 11}}));
  EXPECT_EQ(apply({4, 60, 9, 100, 11}),
            (Counts{{"group ao", 4}, {"group calc", 15}, {"group ", 11}}));
}

TEST(RecordBounds, AllFamiliesFollow) {
  Snapshot snapshot = app::sample_snapshot();
  exposition::BoundsOptions options;
  options.groups = {{*Pattern::compile("PS:(Q[0-9]):.*"), "\\1"}};
  Bounds bounds(options);
  bounds.apply(snapshot);
  const std::string text = render_text(snapshot, app::sample_exporter());
  // Records are named only where one is meant: by a PV.
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    EXPECT_TRUE(line.find("record=\"PS:") == std::string::npos ||
                line.starts_with("epics_pv_info{"))
        << line;
  for (const char* line : {
           "epics_record_process_total{ioc=\"power-supplies\",record_group=\"Q1\"} 24",
           "epics_record_process_total{ioc=\"power-supplies\",record_group=\"Q2\"} 0",
           "epics_ioc_records{ioc=\"power-supplies\",record_type=\"ao\"} 2",
           "epics_record_process_cause_total{ioc=\"power-supplies\",record_group=\"Q1\",cause="
           "\"link\",period=\"\"} 5",
           "epics_record_completion_duration_seconds_count{ioc=\"power-supplies\",record_group="
           "\"Q1\"} 3",
           "epics_record_writes_total{ioc=\"power-supplies\",record_group=\"Q1\",source=\"ca\"} 23",
       })
    EXPECT_THAT(text, testing::HasSubstr(std::string(1, '\n').append(line).append(1, '\n')))
        << line << "\n"
        << text;
}

}  // namespace
}  // namespace ioc_exporter::records
