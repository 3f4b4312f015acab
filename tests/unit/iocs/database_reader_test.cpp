#include "iocs/memory/database_reader.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "database_image.h"
#include "support/value_of.h"

namespace ioc_exporter::iocs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ReadDatabase : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(memory_, nullptr); }

  Result<DatabaseReading> read() {
    const std::uint64_t candidates[]{image_.variable()};
    return read_database(*memory_, candidates, "ioc X (pid 8)");
  }
  std::string failure() { return error_of(read()); }
  // Two types with 3 and 20 records.
  void fill() {
    calc_ = &image_.add_type("calc");
    ai_ = &image_.add_type("ai");
    for (int i = 0; i < 20; ++i) image_.add_record(*ai_, "A:" + std::to_string(i));
    for (int i = 0; i < 3; ++i) image_.add_record(*calc_, "C:" + std::to_string(i));
  }

  std::unique_ptr<ProcMemory> memory_ = own_memory();
  DatabaseImage image_;
  DatabaseImage::Type* calc_ = nullptr;
  DatabaseImage::Type* ai_ = nullptr;
};

TEST_F(ReadDatabase, RecordsTypesAndOffsets) {
  fill();
  image_.add_alias(*calc_, image_.add_record(*calc_, std::string(60, 'L')), "other");
  const auto reading = value_of(read());
  ASSERT_TRUE(reading.ready());
  EXPECT_TRUE(reading.initialized);
  const Database& database = *reading.database;
  EXPECT_EQ(database.types, (std::vector<std::string>{"calc", "ai"}));
  ASSERT_EQ(database.records.size(), 24u) << "the alias is no record";
  EXPECT_TRUE(std::ranges::is_sorted(database.records, {}, &RecordIdentity::address));
  for (const RecordIdentity& record : database.records) {
    EXPECT_EQ(record.name, reinterpret_cast<const char*>(record.address));
    EXPECT_EQ(database.types[record.type], record.name[0] == 'A' ? "ai" : "calc");
  }
  const FieldOffsets& at = reading.offsets;
  EXPECT_THAT((std::array{at.pact, at.disa, at.disv, at.stat, at.sevr, at.disp, at.putf, at.rpro,
                          at.lcnt, at.ppn, at.time, at.scan}),
              ElementsAre(131, 112, 110, 120, kSevrAt, 134, 132, 133, 130, 160, 168, 104));
}

TEST_F(ReadDatabase, AliasesByNameWithTheirRecord) {
  fill();
  const RecordImage& record = image_.add_record(*calc_, "C:x");
  image_.add_alias(*calc_, record, "second");
  image_.add_alias(*calc_, record, std::string(255, 'a'));
  image_.add_alias(*ai_, image_.add_record(*ai_, "A:x"), "first");
  const auto reading = value_of(read());
  const Database& database = *reading.database;
  std::vector<std::pair<std::string, std::string>> found;
  for (const RecordAlias& alias : database.aliases)
    found.emplace_back(alias.name, database.records.at(alias.record).name);
  EXPECT_EQ(found, (std::vector<std::pair<std::string, std::string>>{
                       {std::string(255, 'a'), "C:x"}, {"first", "A:x"}, {"second", "C:x"}}));
}

TEST_F(ReadDatabase, BadAliases) {
  fill();
  const RecordImage& record = image_.add_record(*calc_, "C:x");
  layout::DbRecordNode& alias = image_.add_alias(*calc_, record, std::string(256, 'a'));
  EXPECT_THAT(failure(), HasSubstr("name of an alias at 0x"));
  EXPECT_THAT(failure(), HasSubstr(": longer than 255 bytes"));
  alias.record_name = 0x10;
  EXPECT_THAT(failure(), HasSubstr("name of an alias: read memory at 0x10"));
  alias.precord += 8;  // of a record that is not in the lists
  EXPECT_TRUE(value_of(read()).database->aliases.empty());
}

// Before Base 3.16.1 a link did not start with its record's address: then SDIS is left alone.
TEST_F(ReadDatabase, LinksAreOnlyTrustedWhenTheyKnowTheirRecord) {
  fill();
  EXPECT_EQ(read()->offsets.sdis, kSdisAt);
  for (const layout::DbRecordNode& node : calc_->nodes)
    reinterpret_cast<char*>(node.precord)[kSdisAt] ^= 8;
  EXPECT_EQ(read()->offsets.sdis, std::nullopt);
}

TEST_F(ReadDatabase, TwoTypesMayNotShareAList) {
  fill();
  ai_->raw.rec_list = calc_->raw.rec_list;
  EXPECT_THAT(failure(), HasSubstr("record list of type ai: it is another type's"));
}

TEST_F(ReadDatabase, NotLoadedYetIsNoError) {
  auto reading = read();
  ASSERT_TRUE(reading) << "no record types";
  EXPECT_FALSE(reading->ready());
  image_.add_type("calc", false);
  reading = read();
  ASSERT_TRUE(reading) << "no record support registered";
  EXPECT_FALSE(reading->ready());
  image_.unload();
  reading = read();
  ASSERT_TRUE(reading) << "pdbbase is null";
  EXPECT_FALSE(reading->ready());
}

TEST_F(ReadDatabase, InitializedOnlyWhenIocInitCameByEveryRecord) {
  DatabaseImage::Type& unregistered = image_.add_type("odd", false);
  fill();
  image_.add_record(unregistered, "O:1", false);
  auto reading = read();
  ASSERT_TRUE(reading) << reading.error().message();
  EXPECT_TRUE(reading->initialized) << "a type without support never is";
  EXPECT_EQ(reading->offsets.pact, 131) << "of the first type that has registered";
  image_.add_record(*ai_, "A:new", false);
  reading = read();
  ASSERT_TRUE(reading);
  EXPECT_TRUE(reading->ready());
  EXPECT_FALSE(reading->initialized);
}

TEST_F(ReadDatabase, FirstCandidateThatLeadsToADatabaseWins) {
  fill();
  const std::uint64_t null_pointer = 0;
  const std::uint64_t nonsense = 0x1234567;
  const std::uint64_t unmapped = 0x1000;
  const std::uint64_t variable = image_.variable();
  for (const std::uint64_t first :
       {DatabaseImage::address(&null_pointer), DatabaseImage::address(&nonsense), unmapped}) {
    const std::uint64_t candidates[]{first, variable};
    EXPECT_TRUE(value_of(read_database(*memory_, candidates, "x")).ready());
  }
  const std::uint64_t bad[]{DatabaseImage::address(&nonsense)};
  EXPECT_THAT(read_database(*memory_, bad, "ioc X").error().message(),
              HasSubstr("read the database of ioc X: pdbbase is 0x1234567, no pointer"));
  EXPECT_THAT(read_database(*memory_, {}, "ioc X").error().message(),
              HasSubstr("no symbol pdbbase"));
}

TEST_F(ReadDatabase, WrongCountsAndCircles) {
  fill();
  ++ai_->raw.rec_list.count;
  EXPECT_EQ(failure(),
            "read the database of ioc X (pid 8): record list of type ai: "
            "20 nodes walked, 21 announced");
  ai_->raw.rec_list.count = 19;
  EXPECT_THAT(failure(), HasSubstr("type ai: 20 nodes walked, 19 announced"));
  ai_->raw.rec_list.count = -1;
  EXPECT_THAT(failure(), HasSubstr("type ai: -1 nodes announced"));
  ai_->raw.rec_list.count = INT32_MAX;
  EXPECT_THAT(failure(), HasSubstr("type ai: 2147483647 nodes announced"));
  ai_->raw.rec_list.count = 20;
  ai_->nodes.back().node.next = DatabaseImage::address(&ai_->nodes.front());
  EXPECT_THAT(failure(), HasSubstr("type ai: 21 nodes walked, 20 announced"));
  ai_->raw.rec_list.count = 2'000'000;
  EXPECT_THAT(failure(), HasSubstr("type ai: node 20 does not point back"));
  ai_->nodes.back().node.next = 0;
  ai_->raw.rec_list.count = 20;
  image_.root().record_type_list.count = 3;
  EXPECT_THAT(failure(), HasSubstr("list of record types: 2 nodes walked, 3 announced"));
}

TEST_F(ReadDatabase, BadPointers) {
  fill();
  const std::uint64_t good = ai_->nodes[3].precord;
  ai_->nodes[3].precord = 0;
  EXPECT_THAT(failure(), HasSubstr("type ai: record at 0x0 is no pointer"));
  ai_->nodes[3].precord = good + 1;
  EXPECT_THAT(failure(), HasSubstr("is no pointer"));
  ai_->nodes[3].precord = 0x10;
  EXPECT_THAT(failure(), HasSubstr("name of a record: read memory at 0x10 (pid "));
  EXPECT_THAT(failure(), HasSubstr("not mapped"));
  ai_->nodes[3].precord = 0xFFFFFFFFFFFFFFF8;
  EXPECT_THAT(failure(), HasSubstr("no address of a process"));
  ai_->nodes[3].precord = ai_->nodes[4].precord;
  EXPECT_THAT(failure(), HasSubstr("two records at "));
  ai_->nodes[3].precord = good;
  ai_->nodes[3].node.next = 0x18;
  EXPECT_THAT(failure(), HasSubstr("type ai: read memory at 0x18"));
}

TEST_F(ReadDatabase, BadNames) {
  fill();
  RecordImage& record = image_.add_record(*ai_, "x");
  record.name[0] = '\n';
  EXPECT_THAT(failure(), HasSubstr("name of a record at 0x"));
  EXPECT_THAT(failure(), HasSubstr(": not printable"));
  record.name[0] = '\0';
  EXPECT_THAT(failure(), HasSubstr(": empty"));
  std::memset(record.name, 'x', sizeof record.name);
  EXPECT_THAT(failure(), HasSubstr(": longer than 60 bytes"));
  std::strcpy(record.name,
              "a\xB0"
              "b");
  const auto has_record = [&](const char* name) {
    const auto reading = read();
    if (!reading) return false;
    return std::ranges::any_of(reading->database->records,
                               [&](const RecordIdentity& found) { return found.name == name; });
  };
  EXPECT_TRUE(has_record("a_b")) << "labels are UTF-8";
  std::strcpy(record.name, "  ");
  EXPECT_TRUE(has_record("_")) << "a name that is not empty";
  calc_->raw.name = 0;
  EXPECT_THAT(failure(), HasSubstr("name of a record type: read memory at 0x0"));
}

TEST_F(ReadDatabase, BadFieldDescriptions) {
  fill();
  layout::DbFldDes& pact = calc_->fields[5];
  pact.size = 2;
  EXPECT_THAT(failure(), HasSubstr("fields of record type calc: PACT has 2 bytes at 131 of "));
  pact.size = 1;
  pact.offset = 5000;
  EXPECT_THAT(failure(), HasSubstr("PACT has 1 bytes at 5000 of "));
  pact.offset = 131;
  calc_->field_names[5] = "PACK";
  EXPECT_THAT(failure(), HasSubstr("fields of record type calc: no field PACT"));
  calc_->field_names[5] = "PACT";
  calc_->field_pointers[1] = 12;
  EXPECT_THAT(failure(), HasSubstr("fields of record type calc: 0xc is no pointer"));
  calc_->raw.no_fields = -5;
  EXPECT_THAT(failure(), HasSubstr("record type calc: -5 fields"));
}

TEST_F(ReadDatabase, AnythingInTheListsNeverHangsOrCrashes) {
  fill();
  std::uint32_t random = 99;
  const auto next = [&] { return random = random * 1664525u + 1013904223u; };
  int refused = 0;
  for (int round = 0; round < 2000; ++round) {
    auto* const bytes = reinterpret_cast<unsigned char*>(&calc_->raw);
    const layout::DbRecordType saved = calc_->raw;
    const layout::DbRecordNode saved_node = ai_->nodes[5];
    bytes[next() % sizeof saved] = static_cast<unsigned char>(next() >> 16);
    reinterpret_cast<unsigned char*>(&ai_->nodes[5])[next() % sizeof saved_node] =
        static_cast<unsigned char>(next() >> 16);
    if (!read()) ++refused;
    calc_->raw = saved;
    ai_->nodes[5] = saved_node;
  }
  EXPECT_GT(refused, 500);
  EXPECT_TRUE(read());
}

// Counts the system calls that a real one would make.
class CountingMemory : public Memory {
 public:
  explicit CountingMemory(Memory& memory) : memory_(memory) {}
  Result<std::size_t> read_some(std::uint64_t address, std::span<std::byte> into) override {
    ++calls_;
    return memory_.read_some(address, into);
  }
  Result<std::size_t> gather(std::span<const std::uint64_t> addresses, std::size_t size,
                             std::span<std::byte> into) override {
    ++calls_;
    return memory_.gather(addresses, size, into);
  }
  std::size_t calls() const { return calls_; }

 private:
  Memory& memory_;
  std::size_t calls_ = 0;
};

TEST_F(ReadDatabase, ManyRecordsWithFewReads) {
  DatabaseImage::Type& type = image_.add_type("ai");
  for (int i = 0; i < 100'000; ++i) image_.add_record(type, "BIG:" + std::to_string(i));
  CountingMemory memory(*memory_);
  const std::uint64_t candidates[]{image_.variable()};
  EXPECT_EQ(value_of(read_database(memory, candidates, "ioc X (pid 8)")).database->records.size(),
            100'000u);
  EXPECT_LT(memory.calls(), 10'000u);
}

}  // namespace
}  // namespace ioc_exporter::iocs
