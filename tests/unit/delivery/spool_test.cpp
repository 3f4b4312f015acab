// The queue on disk: its order, its bound, and what is there again.
#include "delivery/spool.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "delivery/spools.h"

namespace ioc_exporter::delivery {
namespace {

constexpr std::uint64_t kMuch = 1u << 30;

class SpoolTest : public testing::Test {
 protected:
  SpoolTest() {
    std::string name = testing::TempDir() + "spool.XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~SpoolTest() override { std::filesystem::remove_all(folder_); }

  Result<std::unique_ptr<Spool>> try_open(std::uint64_t size = kMuch) const {
    auto database = open_database_file(folder_, "a.sqlite", DatabaseFile::database);
    if (!database) return database.error();
    auto log = open_database_file(folder_, "a.sqlite", DatabaseFile::log);
    if (!log) return log.error();
    return Spool::open(folder_ + "/a.sqlite", {std::move(*database), std::move(*log)}, size);
  }
  std::unique_ptr<Spool> open(std::uint64_t size = kMuch) const {
    auto spool = try_open(size);
    EXPECT_TRUE(spool) << spool.error().message();
    return spool ? std::move(*spool) : nullptr;
  }
  // Each stands for its number of items.
  static std::vector<Spool::Row> rows(std::uint64_t first, std::uint64_t last) {
    std::vector<Spool::Row> all;
    for (std::uint64_t i = first; i <= last; ++i) all.push_back({i, "row " + std::to_string(i)});
    return all;
  }
  static std::vector<std::uint64_t> first(Spool& spool, std::size_t most = 100) {
    const auto found = spool.first(most);
    EXPECT_TRUE(found) << found.error().message();
    std::vector<std::uint64_t> numbers;
    if (!found) return numbers;
    for (const auto& row : *found) {
      EXPECT_EQ(row.bytes, "row " + std::to_string(row.items));
      numbers.push_back(row.items);
    }
    return numbers;
  }
  using Numbers = std::vector<std::uint64_t>;

  std::string folder_;
};

TEST_F(SpoolTest, WhatIsTakenFirstIsThereOnceAndTheRestForTheNextExporter) {
  {
    const auto spool = open();
    ASSERT_TRUE(spool->append(rows(4, 6)));
    ASSERT_TRUE(spool->prepend(rows(2, 3)));
    ASSERT_TRUE(spool->append(rows(7, 7)));
    EXPECT_EQ(first(*spool, 3), (Numbers{2, 3, 4}));
    EXPECT_EQ(spool->items(), 27u);
    ASSERT_TRUE(spool->remove_first(2, 5));
    EXPECT_EQ(first(*spool), (Numbers{4, 5, 6, 7}));
  }
  const auto spool = open();
  EXPECT_EQ(spool->rows(), 4u);
  EXPECT_EQ(spool->items(), 22u);
  ASSERT_TRUE(spool->prepend(rows(3, 3)));
  EXPECT_EQ(first(*spool), (Numbers{3, 4, 5, 6, 7}));
  ASSERT_TRUE(spool->remove_first(5, 25));
  EXPECT_EQ(first(*spool), Numbers());
  EXPECT_EQ(spool->items(), 0u);
}

TEST_F(SpoolTest, WhatIsFullTakesNothingInPartAndAgainWhatHasRoom) {
  const auto spool = open(64u << 10);
  const std::vector<Spool::Row> large(3, {1, std::string(10'000, 'x')});
  ASSERT_TRUE(spool->append(large));
  const auto full = spool->append(std::vector<Spool::Row>(5, large.front()));
  ASSERT_FALSE(full);
  EXPECT_NE(full.error().message().find("64KiB that it may take"), std::string::npos);
  EXPECT_EQ(spool->rows(), 3u);
  EXPECT_FALSE(spool->is_broken());
  ASSERT_TRUE(spool->remove_first(3, 3));
  EXPECT_LE(spool->bytes(), 16u << 10);
  EXPECT_TRUE(spool->append(std::vector<Spool::Row>(4, large.front())));
}

// Nothing of what people did stays on the disk.
TEST_F(SpoolTest, WhatIsEmptyGivesItsRoomBack) {
  const auto spool = open();
  ASSERT_TRUE(spool->append(std::vector<Spool::Row>(500, {1, std::string(10'000, 'x')})));
  ASSERT_TRUE(spool->remove_first(500, 500));
  for (const char* file : {"/a.sqlite", "/a.sqlite-wal"}) {
    EXPECT_LE(std::filesystem::file_size(folder_ + file), 32u << 10) << file;
    std::ifstream in(folder_ + file, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(in)), {});
    EXPECT_EQ(text.find("xxxx"), std::string::npos) << file;
  }
}

TEST_F(SpoolTest, WhatIsNoneIsRefused) {
  std::ofstream(folder_ + "/a.sqlite") << std::string(8192, 'x');
  EXPECT_FALSE(try_open());
  std::filesystem::remove(folder_ + "/a.sqlite");
  ASSERT_TRUE(open()->append(rows(1, 3)));
  {
    auto database = open_database_file(folder_, "a.sqlite", DatabaseFile::database);
    auto log = open_database_file(folder_, "a.sqlite", DatabaseFile::log);
    auto other = Database::open("a", {std::move(*database), std::move(*log)}, {1, ""});
    ASSERT_TRUE(other);
    ASSERT_TRUE((*other)->run("DELETE FROM queue WHERE id = 1"));
  }
  const auto holes = try_open();
  ASSERT_FALSE(holes);
  EXPECT_NE(holes.error().message().find("not those of an exporter"), std::string::npos);
  {
    auto database = open_database_file(folder_, "a.sqlite", DatabaseFile::database);
    auto log = open_database_file(folder_, "a.sqlite", DatabaseFile::log);
    auto other = Database::open("a", {std::move(*database), std::move(*log)}, {1, ""});
    ASSERT_TRUE((*other)->run("PRAGMA user_version=2"));
  }
  const auto newer = try_open();
  ASSERT_FALSE(newer);
  EXPECT_NE(newer.error().message().find("newer"), std::string::npos);
}

TEST_F(SpoolTest, ANameNamesAFileInTheFolder) {
  Spools spools("numbers", folder_, kMuch);
  for (const std::string& name : std::vector<std::string>{
           "", "a/b", "..", ".a", std::string("a\0b", 3), std::string(201, 'a')})
    EXPECT_FALSE(spools.add(name)) << name;
  EXPECT_EQ(*spools.add("a"), 0u);
  EXPECT_EQ(*spools.add("b c"), 1u);
  std::ofstream(folder_ + "/b c.sqlite") << std::string(8192, 'x');
  ASSERT_TRUE(spools.open(
      [&spools](std::size_t number, DatabaseFile file) { return spools.serve(number, file); }));
  EXPECT_NE(spools.at(0), nullptr);
  EXPECT_EQ(spools.at(1), nullptr);  // broken: that sink goes on without
  EXPECT_FALSE(spools.serve(2, DatabaseFile::log));
}

}  // namespace
}  // namespace ioc_exporter::delivery
