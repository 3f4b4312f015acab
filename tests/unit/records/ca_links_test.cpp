#include "records/memory/ca_links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "base/time_text.h"
#include "iocs/find/process_stat.h"
#include "iocs/memory/memory.h"

namespace ioc_exporter::records {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// link.h: of 3.14 and 3.15, and since 3.16.
struct OldLink {
  const char* pvname;
  void* precord;
  void* pvt;
  void* get_cvt;
  short mask, last_type;
  alignas(8) short type;  // behind the union
  char* text;
};
struct NewLink {
  void* precord;
  short type, flags;
  void* lset;
  char* text;
  void* backlinknode[2];
  const char* pvname;
  void* pvt;
  void* get_cvt;
  short mask, last_type;
};

struct Empty {};
struct Evids {
  void *native, *string;
};
struct PlinkPutCallback {
  void* link;
};

// dbCaPvt.h. `Callback`: until 3.14.12.5 and 3.15.2; `Ids`: since 3.14.12.8, 3.15.6, 3.16.2, 7.0.2.
template <class Callback, class Ids>
struct OldCaLink {
  void* node[2];
  void* lock;
  void* plink;
  const char* pvname;
  void* chid;
  short link_action;
  unsigned short sevr, stat;
  unsigned time[2];
  short dbr_type;
  long nelements;
  char has_read, has_write, is_connected, got_first_connection;
  void *connect, *monitor, *user;
  short put_type;
  void *put_callback, *put_user;
  [[no_unique_address]] Callback callback;
  char got_attributes;
  void *get_attributes, *get_attributes_pvt;
  double limits[8];
  short precision;
  char units[8];
  void *pget_native, *pget_string, *pput_native, *pput_string;
  [[no_unique_address]] Ids ids;
  char got_in_native, got_in_string, got_out_native, got_out_string, new_out_native, new_out_string;
  unsigned long disconnects, no_writes;
};
template <class Ids>
struct NewCaLink {
  void* node[2];
  int refcount;
  void* lock;
  void* plink;
  const char* pvname;
  void* chid;
  short link_action;
  unsigned short sevr, stat;
  unsigned time[2];
  short dbr_type;
  std::size_t element_size;
  unsigned long nelements, used, put;
  char has_read, has_write, is_connected, got_first_connection;
  void *connect, *monitor, *user;
  short put_type;
  void *put_callback, *put_user;
  char got_attributes;
  void *get_attributes, *get_attributes_pvt;
  double limits[8];
  short precision;
  char units[8];
  void *pget_native, *pget_string, *pput_native, *pput_string;
  [[no_unique_address]] Ids ids;
  char got_in_native, got_in_string, got_out_native, got_out_string, new_out_native, new_out_string;
  unsigned char scanning_once;
  unsigned long disconnects, no_writes, updates;
};

// An IOC in this process.
template <class Link, class CaLink>
struct Image {
  struct Record {
    char name[64] = "R";
    Link in{}, out{};
  };

  explicit Image(const char* base) : version(base) {
    auto made = std::make_shared<Database>();
    made->types = {"t"};
    for (Record& record : records) made->records.push_back({address(&record), "R", 0});
    made->link_fields = {
        {{"IN", offsetof(Record, in), sizeof(Link)}, {"OUT", offsetof(Record, out), sizeof(Link)}}};
    database = made;
    variables["interruptAccept"] = {{address(&accepting), sizeof accepting}};
  }
  static std::uint64_t address(const void* of) { return reinterpret_cast<std::uintptr_t>(of); }

  CaLink& connect(Record& record, Link& link, const char* pv, bool connected) {
    CaLink& made = *(ca_links.emplace_back(std::make_unique<CaLink>()));
    made.plink = &link;
    made.pvname = names.emplace_back(::strdup(pv), &std::free).get();
    made.has_read = made.has_write = made.is_connected = made.got_first_connection = connected;
    made.got_in_native = connected;
    link.precord = &record;
    link.type = 11;  // CA_LINK
    link.pvname = pv;
    link.pvt = &made;
    return made;
  }
  // What is told after a look; the error in `problem`.
  std::optional<CaLinksSample> look(CaLinks& links) {
    const auto done = links.update(*memory, variables, CaLinks::Clock::now() + 10s);
    problem = done ? "" : done.error().message();
    return links.sample();
  }
  CaLinks links() { return CaLinks(database, version); }

  const char* version;
  std::array<Record, 3> records{};
  std::vector<std::unique_ptr<CaLink>> ca_links;
  std::vector<std::unique_ptr<char, void (*)(void*)>> names;  // as dbCa copies them
  int accepting = 1;
  std::shared_ptr<const Database> database;
  iocs::VariablePlaces variables;
  std::string problem;
  std::unique_ptr<iocs::ProcMemory> memory = std::move(*iocs::ProcMemory::open(
      RootedFs("/"), iocs::read_process_stat(RootedFs("/"), ::getpid())->id));
};

template <class Link, class CaLink>
void reads(const char* version) {
  SCOPED_TRACE(version);
  Image<Link, CaLink> ioc(version);
  auto& up = ioc.connect(ioc.records[0], ioc.records[0].in, "up", true);
  auto& down = ioc.connect(ioc.records[2], ioc.records[2].out, "down:PV.VAL", false);
  up.disconnects = 5;
  up.no_writes = 3;
  down.disconnects = 2;
  ioc.records[1].in.type = 10;  // DB_LINK, whose pvt is another thing
  ioc.records[1].in.pvt = &up;
  CaLinks links = ioc.links();
  const auto sample = ioc.look(links);
  ASSERT_TRUE(sample) << ioc.problem;
  EXPECT_EQ(sample->connected, 1u);
  EXPECT_EQ(sample->disconnected, 1u);
  EXPECT_EQ(sample->disconnects, 7u);
  EXPECT_EQ(sample->lost_writes, 3u);
  ASSERT_EQ(sample->down.size(), 1u);
  EXPECT_EQ(sample->down[0].record, 2u);
  EXPECT_EQ(sample->down[0].field, "OUT");
  EXPECT_EQ(sample->down[0].pv, "down:PV.VAL");
  EXPECT_FALSE(sample->down[0].ever_connected);
}

using Latest = Image<NewLink, NewCaLink<Evids>>;

TEST(CaLinks, ReadsTheLayoutOfEachBase) {
  for (const char* version : {"3.14.12", "3.14.12.5", "3.15.0.1", "3.15.2"})
    reads<OldLink, OldCaLink<PlinkPutCallback, Empty>>(version);
  for (const char* version : {"3.14.12.6", "3.14.12.7", "3.15.3", "3.15.5"})
    reads<OldLink, OldCaLink<Empty, Empty>>(version);
  for (const char* version : {"3.14.12.8", "3.15.6", "3.15.9"})
    reads<OldLink, OldCaLink<Empty, Evids>>(version);
  for (const char* version : {"3.16.0.1", "3.16.1", "7.0.1", "7.0.1.1"})
    reads<NewLink, NewCaLink<Empty>>(version);
  for (const char* version : {"3.16.2", "7.0.2", "7.0.3.1", "7.0.8.1", "7.0.10", "7.0.10.1-DEV"})
    reads<NewLink, NewCaLink<Evids>>(version);
}

TEST(CaLinks, AnotherLayoutIsToldAsNone) {
  Latest ioc("3.16.1");  // it has other ids than its version has
  auto& link = ioc.connect(ioc.records[1], ioc.records[1].in, "pv", true);
  link.ids.native = link.ids.string = &link;
  CaLinks links = ioc.links();
  EXPECT_FALSE(ioc.look(links));
  EXPECT_THAT(ioc.problem, HasSubstr("R.IN does not lead to a caLink as Base 3.16.1 has it"));
  Latest old("3.15.9");
  CaLinks none = old.links();
  EXPECT_FALSE(old.look(none));
  EXPECT_THAT(old.problem, HasSubstr("links have 80 bytes, not 56"));
  for (const char* version : {"", "database 3.23.1", "3.14.11", "3.13.10"}) {
    CaLinks unknown(ioc.database, version);
    EXPECT_FALSE(ioc.look(unknown));
    EXPECT_THAT(ioc.problem, HasSubstr("is not known")) << version;
  }
}

TEST(CaLinks, NothingIsToldBeforeTheIocRuns) {
  Latest ioc("7.0.10");
  ioc.accepting = 0;
  CaLinks links = ioc.links();
  EXPECT_FALSE(ioc.look(links));
  EXPECT_THAT(ioc.problem, HasSubstr("iocInit is under way"));
  ioc.accepting = 1;
  EXPECT_TRUE(ioc.look(links));
  ioc.variables.clear();
  CaLinks blind = ioc.links();
  EXPECT_FALSE(ioc.look(blind));
  EXPECT_THAT(ioc.problem, HasSubstr("interruptAccept"));
}

TEST(CaLinks, CountsGoOnWhenLinksAreSetToOtherPvs) {
  Latest ioc("7.0.10");
  auto& record = ioc.records[0];
  ioc.connect(record, record.in, "first", true).disconnects = 4;
  CaLinks links = ioc.links();
  EXPECT_EQ(ioc.look(links)->disconnects, 4u);
  ioc.ca_links[0]->disconnects = 6;
  ioc.ca_links[0]->is_connected = 0;
  auto sample = ioc.look(links);
  EXPECT_EQ(sample->disconnects, 6u);
  EXPECT_EQ(sample->down.at(0).pv, "first");
  ioc.ca_links[0]->plink = nullptr;  // as dbCaRemoveLink() leaves it
  ioc.connect(record, record.in, "second", true).disconnects = 1;
  sample = ioc.look(links);
  EXPECT_EQ(sample->disconnects, 7u);
  EXPECT_EQ(sample->connected, 1u);
  EXPECT_TRUE(sample->down.empty());
  ioc.ca_links[1]->plink = nullptr;
  record.in.type = 1;  // PV_LINK
  record.in.pvt = nullptr;
  sample = ioc.look(links);
  EXPECT_EQ(sample->connected + sample->disconnected, 0u);
  EXPECT_EQ(sample->disconnects, 7u);
  links.begin_anew();
  ioc.connect(record, record.out, "third", false).disconnects = 3;
  EXPECT_EQ(ioc.look(links)->disconnects, 3u);
}

TEST(CaLinks, ALinkThatWasLostAgainIsDownSinceThen) {
  Latest ioc("7.0.10");
  ioc.connect(ioc.records[0], ioc.records[0].in, "pv", false);
  CaLinks links = ioc.links();
  (void)ioc.look(links);
  const double since = links.sample()->down.at(0).since_seconds;
  EXPECT_LE(since, now_seconds());
  (void)ioc.look(links);
  EXPECT_EQ(links.sample()->down.at(0).since_seconds, since);
  ioc.ca_links[0]->disconnects = 1;  // up and down again between two looks
  (void)ioc.look(links);
  EXPECT_GT(links.sample()->down.at(0).since_seconds, since);
}

// dbCa frees the struct of the former PV, and malloc() gives the same address again.
TEST(CaLinks, ALinkThatIsSetToAnotherPvAtTheSameAddressHasItsName) {
  Latest ioc("7.0.10");
  auto& link = ioc.connect(ioc.records[0], ioc.records[0].in, "first", false);
  CaLinks links = ioc.links();
  const auto first = ioc.look(links)->down.at(0);
  EXPECT_EQ(first.pv, "first");
  alignas(8) static char other[] = "second";  // as malloc() aligns
  link.pvname = other;
  const auto second = ioc.look(links)->down.at(0);
  EXPECT_EQ(second.pv, "second");
  EXPECT_GT(second.since_seconds, first.since_seconds);
  alignas(8) char name[] = "third";
  link.pvname = name;
  (void)ioc.look(links);
  std::strcpy(name, "4th");  // its name, too
  EXPECT_EQ(ioc.look(links)->down.at(0).pv, "4th");
}

TEST(CaLinks, ManyLinksOfARecordAreLookedAtOneAfterTheOther) {
  using Links = std::array<NewLink, 800>;
  Latest ioc("7.0.10");
  Links all{};
  auto database = std::make_shared<Database>(*ioc.database);
  database->records = {{Latest::address(&all), "R", 0}};
  database->link_fields = {{}};
  for (std::uint16_t i = 0; i < all.size(); ++i) {
    ioc.connect(ioc.records[0], all[i], "pv", true);
    all[i].precord = &all;
    database->link_fields[0].push_back(
        {"L", static_cast<std::uint16_t>(i * sizeof all[0]), sizeof all[0]});
  }
  CaLinks links(database, "7.0.10");
  int looks = 0;
  do {
    ASSERT_TRUE(links.update(*ioc.memory, ioc.variables, {}));  // no time at all
  } while (!links.sample() && ++looks < 10);
  EXPECT_EQ(looks, 1);  // 512 at once
  EXPECT_EQ(links.sample()->connected, 800u);
}

}  // namespace
}  // namespace ioc_exporter::records
