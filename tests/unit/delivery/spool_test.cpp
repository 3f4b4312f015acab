// The queue on disk: its order, its bound, and what is there again.
#include "delivery/spool.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/mman.h>
#include <sys/stat.h>
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

  std::string path() const { return folder_ + "/a.sqlite"; }
  // By SQLite's own tools, so to speak: the first column of the last row, or what is wrong.
  std::string by_others(const std::string& sql) const {
    sqlite3* database = nullptr;
    EXPECT_EQ(sqlite3_open(path().c_str(), &database), SQLITE_OK);
    std::string told;
    const auto note = [](void* to, int, char** values, char**) {
      *static_cast<std::string*>(to) = values[0] == nullptr ? "" : values[0];
      return 0;
    };
    if (sqlite3_exec(database, sql.c_str(), note, &told, nullptr) != SQLITE_OK)
      told = sqlite3_errmsg(database);
    sqlite3_close(database);
    ::chmod(path().c_str(), 0640);
    return told;
  }
  // Of a file that others have made so.
  std::string problem_of(const std::string& sql) {
    std::filesystem::remove(path());
    EXPECT_EQ(by_others("PRAGMA user_version=1;" + sql), "");
    const auto spool = try_open();
    return spool ? "" : spool.error().message();
  }

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
    EXPECT_LE(std::filesystem::file_size(folder_ + file), 512u << 10) << file;
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
  EXPECT_EQ(by_others("DELETE FROM queue WHERE id = 1"), "");
  const auto holes = try_open();
  ASSERT_FALSE(holes);
  EXPECT_NE(holes.error().message().find("not those of an exporter"), std::string::npos);
  EXPECT_EQ(by_others("PRAGMA user_version=2"), "");
  const auto newer = try_open();
  ASSERT_FALSE(newer);
  EXPECT_NE(newer.error().message().find("newer"), std::string::npos);
}

TEST_F(SpoolTest, TablesAndRowsOfOthersAreRefused) {
  const std::string table =
      "CREATE TABLE queue(id INTEGER PRIMARY KEY, items INTEGER NOT NULL, bytes BLOB NOT NULL);";
  // It has no end.
  EXPECT_NE(problem_of("CREATE VIEW queue AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 "
                       "FROM c) SELECT x id, 1 items, x'00' bytes FROM c")
                .find("its tables are not those of an exporter"),
            std::string::npos);
  EXPECT_NE(problem_of("CREATE TABLE puts(id)").find("its tables"), std::string::npos);
  EXPECT_NE(problem_of(table + "CREATE TRIGGER t AFTER DELETE ON queue BEGIN SELECT 1; END")
                .find("its tables"),
            std::string::npos);
  for (const char* rows : {"(1, 1.6, x'00'), (2, 1.6, x'00')", "(1, 1, 'text')", "(1, 'x', x'00')",
                           "(-9223372036854775808, 1, x'00')", "(9223372036854775807, 1, x'00')"})
    EXPECT_NE(problem_of(table + "INSERT INTO queue VALUES" + rows).find("its rows"),
              std::string::npos)
        << rows;
}

// As `sqlite3 a.sqlite .dump | sqlite3 b.sqlite` makes it: no write-ahead log.
TEST_F(SpoolTest, WhatWasCopiedBySqlsToolsIsUsed) {
  EXPECT_EQ(problem_of(
                "CREATE TABLE queue(id INTEGER PRIMARY KEY, items INTEGER NOT NULL, bytes BLOB NOT "
                "NULL); INSERT INTO queue VALUES(1, 1, x'00'), (2, 1, x'00')"),
            "");
  {
    const auto spool = open();
    ASSERT_TRUE(spool->remove_first(1, 1));
    ASSERT_TRUE(spool->append(rows(7, 7)));
  }
  EXPECT_EQ(open()->rows(), 2u);
  EXPECT_EQ(by_others("SELECT group_concat(DISTINCT typeof(bytes)) FROM queue"), "blob");
}

TEST_F(SpoolTest, SqlsToolsAreToldThatItIsInUse) {
  const auto spool = open();
  ASSERT_TRUE(spool->append(rows(1, 3)));
  EXPECT_EQ(by_others("SELECT count(*) FROM queue"), "database is locked");
  EXPECT_TRUE(std::filesystem::exists(path() + "-wal"));
}

// F_SEAL_GROW stands for a disk that is full: what is there can be written over, no more.
TEST_F(SpoolTest, WhatIsDoneWithLeavesAlsoWhileTheDiskIsFull) {
  const UniqueFd database(::memfd_create("database", MFD_ALLOW_SEALING)),
      log(::memfd_create("log", MFD_ALLOW_SEALING));
  const auto open = [&] {
    auto spool =
        Spool::open("a", {UniqueFd(::dup(database.get())), UniqueFd(::dup(log.get()))}, kMuch);
    EXPECT_TRUE(spool) << spool.error().message();
    return std::move(*spool);
  };
  ASSERT_TRUE(open()->append(std::vector<Spool::Row>(20'000, {1, std::string(200, 'x')})));
  for (const int fd : {database.get(), log.get()})
    ASSERT_EQ(::fcntl(fd, F_ADD_SEALS, F_SEAL_GROW), 0);
  {
    const auto spool = open();
    EXPECT_FALSE(spool->append(std::vector<Spool::Row>(20'000, {1, std::string(200, 'x')})));
    for (int i = 0; i < 15; ++i) {
      const auto gone = spool->remove_first(1000, 1000);
      EXPECT_TRUE(gone) << gone.error().message();
    }
  }
  EXPECT_EQ(open()->rows(), 5'000u);
}

TEST_F(SpoolTest, AFileThatCannotBeUsedIsDoneWithout) {
  Spools spools("numbers", folder_, kMuch);
  for (const char* name : {"a", "fifo", "link", "wal"}) ASSERT_TRUE(spools.add(name));
  ASSERT_EQ(::mkfifo((folder_ + "/fifo.sqlite").c_str(), 0600), 0);
  std::filesystem::create_symlink("a.sqlite", folder_ + "/link.sqlite");
  std::filesystem::create_symlink("/etc/passwd", folder_ + "/wal.sqlite-wal");
  const auto open = [](Spools& all) {
    return all.open(
        [&all](std::size_t number, DatabaseFile file) { return all.serve(number, file); });
  };
  const auto opened = open(spools);
  ASSERT_TRUE(opened) << opened.error().message();
  EXPECT_NE(spools.at(0), nullptr);
  for (const std::size_t number : {1u, 2u, 3u}) EXPECT_EQ(spools.at(number), nullptr) << number;
  // Of two exporters one does not start.
  Spools other("numbers", folder_, kMuch);
  ASSERT_TRUE(other.add("a"));
  const auto used = open(other);
  ASSERT_FALSE(used);
  EXPECT_EQ(used.error().code, std::errc::device_or_resource_busy);
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
