// The store: what is there after which end, what is found, and what is removed.
#include "putlog/store.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "events.h"
#include "putlog/json.h"

namespace ioc_exporter::putlog {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kAll = UINT64_MAX;
const auto kTime = event(1).time;

class StoreTest : public testing::Test {
 protected:
  using Numbers = std::vector<std::uint64_t>;

  StoreTest() {
    std::string name = testing::TempDir() + "store.XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~StoreTest() override { std::filesystem::remove_all(folder_); }

  Result<std::shared_ptr<Store>> try_open(StoreBounds bounds = {}) const {
    auto store = std::make_shared<Store>(folder_, bounds);
    if (auto opened = store->open(); !opened) return opened.error();
    return store;
  }
  std::shared_ptr<Store> open(StoreBounds bounds = {}) const {
    auto store = try_open(bounds);
    EXPECT_TRUE(store) << store.error().message();
    return store ? *store : nullptr;
  }
  // A second apart.
  static Result<void> add(Store& store, std::uint64_t first, std::uint64_t count) {
    std::vector<Entry> entries;
    for (std::uint64_t seq = first; seq < first + count; ++seq) {
      PutEvent one = event(seq, seq % 2 == 0 ? "EVEN" : "ODD");
      one.time = kTime + std::chrono::seconds(seq);
      entries.push_back({shared(std::move(one))});
    }
    return store.add(entries);
  }
  static std::string lines(Store& store, PutQuery query = {}, std::uint64_t before = kAll) {
    const auto reader = store.read(std::move(query), {before, before});
    std::string all;
    for (;;) {
      const auto more = reader->next();
      EXPECT_TRUE(more) << more.error().message();
      if (!more || !*more) return all;
      all += **more;
    }
  }
  static Numbers numbers(Store& store, PutQuery query = {}, std::uint64_t before = kAll) {
    Numbers all;
    std::istringstream text(lines(store, std::move(query), before));
    for (std::string line; std::getline(text, line);)
      all.push_back(std::stoull(line.substr(line.find("\"seq\":") + 6)));
    return all;
  }
  static Numbers from_to(std::uint64_t first, std::uint64_t last, std::uint64_t step = 1) {
    Numbers all;
    for (; first <= last; first += step) all.push_back(first);
    return all;
  }
  static PutQuery asking(const Since& since, std::size_t limit = SIZE_MAX) {
    PutQuery query;
    query.since = since;
    query.limit = limit;
    return query;
  }
  std::string path() const { return folder_ + "/puts.sqlite"; }
  // As another program does it: the first column of the last row, or the error.
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

  static Since at(std::uint64_t seq) { return kTime + std::chrono::seconds(seq); }

  std::string folder_;
};

// Of each kind memory begins elsewhere.
TEST_F(StoreTest, WritesInsideAreToldWhereTheyAreWanted) {
  const auto store = open();
  std::vector<Entry> entries;
  for (std::uint64_t seq = 1; seq <= 12; ++seq) {
    PutEvent one = event(seq, "\\\"inside\\\":true");
    one.inside = seq % 3 == 0;
    if (seq == 6) one.action = "forbidden";
    entries.push_back({shared(std::move(one))});
  }
  ASSERT_TRUE(store->add(entries));
  EXPECT_EQ(numbers(*store), (Numbers{1, 2, 4, 5, 6, 7, 8, 10, 11}));
  PutQuery query;
  query.filter.inside = true;
  EXPECT_EQ(numbers(*store, query), from_to(1, 12));
  query.limit = 4;
  EXPECT_EQ(numbers(*store, query), from_to(9, 12));
  query.limit = SIZE_MAX;
  std::string text;
  for (const auto reader = store->read(query, {5, 10}); const auto more = *reader->next();)
    text += *more;
  for (const auto& [seq, there] :
       {std::pair{4, true}, {5, false}, {6, false}, {9, true}, {12, false}})
    EXPECT_EQ(text.find("\"seq\":" + std::to_string(seq) + ",") != std::string::npos, there) << seq;
}

TEST_F(StoreTest, KeepsTheLinesForTheNextExporter) {
  ASSERT_TRUE(add(*open(), 1, 3));
  const auto store = open();
  ASSERT_TRUE(store);
  ASSERT_TRUE(add(*store, 1, 1));
  EXPECT_EQ(numbers(*store), (Numbers{1, 1, 2, 3}));  // in the order of their times
  PutEvent third = event(3, "ODD");
  third.time = *at(3);
  EXPECT_NE(lines(*store).find(to_json(third) + "\n"), std::string::npos);
  for (const char* name : {"/puts.sqlite", "/puts.sqlite-wal"}) {
    struct stat status {};
    ASSERT_EQ(::stat((folder_ + name).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0640u);
  }
}

// Rows are read in pieces of a thousand.
TEST_F(StoreTest, FindsTheAskedOnes) {
  const auto store = open();
  ASSERT_TRUE(add(*store, 1, 2500));
  EXPECT_EQ(numbers(*store), from_to(1, 2500));
  EXPECT_EQ(numbers(*store, asking(at(1200))), from_to(1200, 2500));
  EXPECT_EQ(numbers(*store, asking({}, 2300)), from_to(201, 2500));
  EXPECT_EQ(numbers(*store, asking(at(2400), 2300)), from_to(2400, 2500));
  PutQuery odd = asking(at(10), 1100);
  odd.filter.pv.include = *Pattern::compile("O.*");
  EXPECT_EQ(numbers(*store, odd), from_to(301, 2499, 2));
  EXPECT_EQ(numbers(*store, asking(at(9999))), Numbers());
  EXPECT_EQ(numbers(*store, asking({}, 5), 1), Numbers());
}

// Lines of a MiB are looked at in pieces on the way back, too.
TEST_F(StoreTest, FindsGroupsByTheirMembers) {
  const auto store = open();
  ASSERT_TRUE(add(*store, 1, 3));
  for (std::uint64_t seq = 4; seq < 8; ++seq) {
    PutEvent group = event(seq, "A:grp", std::string(600'000, 'x'));
    group.time = *at(seq);
    group.fields = {{"A:x.VAL", "DBR_LONG", 1, scalar(seq), {}},
                    {seq == 7 ? "A:z.VAL" : "A:\"y.VAL", "DBR_LONG", 1, scalar(seq), {}}};
    ASSERT_TRUE(store->add(std::vector{Entry{shared(group)}}));
  }
  ASSERT_TRUE(store->add(std::vector{Entry{shared(event(8, "B", "\"fields\":[A:x"))}}));
  for (const auto& [pattern, first, last] :
       {std::tuple{"A:x", 4u, 7u}, {"A:\"y", 4u, 6u}, {"A:grp", 4u, 7u}, {"A:z", 7u, 7u}}) {
    PutQuery query = asking({});
    query.filter.pv.include = *Pattern::compile(pattern);
    EXPECT_EQ(numbers(*store, query), from_to(first, last)) << pattern;
    query.limit = 2;
    EXPECT_EQ(numbers(*store, query), from_to(std::max(first, last - 1), last)) << pattern;
  }
}

// A clock that was set back: times come twice.
TEST_F(StoreTest, PutsOfOneTimeAreAllTold) {
  const auto store = open();
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(store->add(std::vector<Entry>(700, Entry{shared(event(7))})));
  EXPECT_EQ(numbers(*store).size(), 2100u);
  EXPECT_EQ(numbers(*store, asking({}, 1500)).size(), 1500u);
}

// Of what this exporter saw only what has left its memory.
TEST_F(StoreTest, LeavesToMemoryThePutsThatItHas) {
  ASSERT_TRUE(add(*open(), 1, 3));
  const auto store = open();
  ASSERT_TRUE(add(*store, 1, 4));
  EXPECT_EQ(numbers(*store, {}, 3), (Numbers{1, 1, 2, 2, 3}));
}

TEST_F(StoreTest, LongLinesComeInPiecesThatFitMemory) {
  const auto store = open();
  const Entry entry{shared(event(1, "A", std::string(200'000, 'x')))};
  ASSERT_TRUE(store->add(std::vector(23, entry)));
  const auto reader = store->read({}, {kAll, kAll});
  std::size_t all = 0;
  for (;;) {
    const auto piece = reader->next();
    ASSERT_TRUE(piece);
    if (!*piece) break;
    EXPECT_LT((*piece)->size(), 2u << 20);
    all += (*piece)->size();
  }
  EXPECT_GT(all, 23u * 200'000);
}

TEST_F(StoreTest, OldEventsAreDeleted) {
  const auto store = open({.age = 60s});
  ASSERT_TRUE(add(*store, 1, 23));
  ASSERT_TRUE(store->trim(std::chrono::time_point_cast<std::chrono::microseconds>(*at(70))));
  EXPECT_EQ(numbers(*store), from_to(10, 23));
}

TEST_F(StoreTest, TheOldestGoWhereThereIsTooMuch) {
  constexpr std::uint64_t kSize = 1 << 20;
  const auto store = open({.size = kSize, .age = 0s});
  for (std::uint64_t seq = 1; seq < 10'000; seq += 500) {
    ASSERT_TRUE(add(*store, seq, 500));
    ASSERT_TRUE(store->trim(std::chrono::system_clock::now()));
  }
  const Numbers kept = numbers(*store);
  ASSERT_GT(kept.size(), 1000u);
  EXPECT_EQ(kept, from_to(kept.front(), 10'000));
  // With what is written before there is room again.
  EXPECT_LT(std::filesystem::file_size(folder_ + "/puts.sqlite"), kSize * 3 / 2);
}

TEST_F(StoreTest, WhereNothingHasRoomNothingIsKept) {
  const auto store = open({.size = 1, .age = 0s});
  ASSERT_TRUE(add(*store, 1, 3));
  const auto trimmed = store->trim(std::chrono::system_clock::now());
  EXPECT_TRUE(trimmed) << trimmed.error().message();
  EXPECT_EQ(numbers(*store), Numbers());
}

// Acknowledged events are there once; the others once or not at all.
TEST_F(StoreTest, AKilledExporterLosesNothingThatWasAcknowledged) {
  int acknowledged[2];
  ASSERT_EQ(::pipe(acknowledged), 0);
  const pid_t exporter = ::fork();
  if (exporter == 0) {
    const auto store = open();
    for (std::uint64_t seq = 1; store && add(*store, seq, 10); seq += 10)
      (void)!::write(acknowledged[1], ".", 1);
    ::_exit(1);
  }
  ::close(acknowledged[1]);
  std::uint64_t told = 0;
  for (char one; told < 300 && ::read(acknowledged[0], &one, 1) == 1;) told += 10;
  ASSERT_EQ(::kill(exporter, SIGKILL), 0);
  for (char one; ::read(acknowledged[0], &one, 1) == 1;) told += 10;
  ::waitpid(exporter, nullptr, 0);
  ::close(acknowledged[0]);
  const auto store = open();
  ASSERT_TRUE(store);
  const Numbers kept = numbers(*store);
  EXPECT_GE(kept.size(), told);
  EXPECT_LE(kept.size(), told + 10);
  EXPECT_EQ(kept, from_to(1, kept.size()));
}

TEST_F(StoreTest, ADiskThatIsFullTakesAllOrNothing) {
  ::signal(SIGXFSZ, SIG_IGN);
  StoreSink sink(open());
  std::vector<Entry> entries;
  for (std::uint64_t seq = 1; seq <= 400; ++seq) entries.push_back({shared(event(seq))});
  ASSERT_EQ(sink.deliver(entries).entries, 400u);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit full{64 << 10, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &full);
  const Sink::Delivered refused = sink.deliver(entries);
  ::setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(refused.entries, 0u);
  EXPECT_TRUE(refused.problem);
  EXPECT_EQ(sink.deliver(entries).entries, 400u);
  EXPECT_TRUE(sink.tend());
}

TEST_F(StoreTest, NamesTheError) {
  const auto store = open();
  const auto second = try_open();
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message().find("database is locked"), std::string::npos)
      << second.error().message();
  std::filesystem::create_directory(folder_ + "/other");
  std::ofstream(folder_ + "/other/puts.sqlite") << std::string(8192, 'x');
  folder_ += "/other";
  const auto other = try_open();
  folder_ = folder_.substr(0, folder_.rfind('/'));
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message().find("not a database"), std::string::npos)
      << other.error().message();
}

TEST_F(StoreTest, OtherProgramsAreToldThatItIsInUse) {
  const auto store = open();
  ASSERT_TRUE(add(*store, 1, 3));
  EXPECT_EQ(by_others("SELECT count(*) FROM puts"), "database is locked");
  EXPECT_TRUE(std::filesystem::exists(path() + "-wal"));
}

TEST_F(StoreTest, ADatabaseThatOthersCopiedIsUsed) {
  { ASSERT_TRUE(add(*open(), 1, 3)); }
  EXPECT_EQ(by_others("PRAGMA journal_mode=DELETE"), "delete");  // as a dump makes it
  std::filesystem::remove(path() + "-wal");
  const auto store = open();
  ASSERT_TRUE(store && add(*store, 4, 3));
  EXPECT_EQ(numbers(*store), from_to(1, 6));
}

TEST_F(StoreTest, TablesOfOthersAndOfNewerExportersAreRefused) {
  { ASSERT_TRUE(add(*open(), 1, 3)); }
  const auto problem = [this] {
    const auto store = try_open();
    return store ? std::string() : store.error().message();
  };
  EXPECT_EQ(by_others("CREATE TRIGGER t AFTER DELETE ON puts BEGIN SELECT 1; END"), "");
  EXPECT_NE(problem().find("its tables are not those of an exporter"), std::string::npos);
  EXPECT_EQ(by_others("DROP TRIGGER t"), "");
  EXPECT_EQ(problem(), "");
  EXPECT_EQ(by_others("PRAGMA user_version=2"), "");
  EXPECT_NE(problem().find("a newer ioc_exporter has written it"), std::string::npos);
}

}  // namespace
}  // namespace ioc_exporter::putlog
