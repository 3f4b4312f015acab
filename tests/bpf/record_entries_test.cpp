// Where functions are probed at their entries, and what is known by where their callers are.
#include "record_process_fixture.h"
#include "records/probe/probe_points.h"

namespace ioc_exporter::records {
namespace {

std::uint8_t first_byte(const RecordTarget& target, std::uint64_t offset) {
  std::uint8_t byte = 0;
  EXPECT_EQ(::pread(target.code->fd(), &byte, 1, static_cast<off_t>(offset)), 1);
  return byte;
}

TEST_P(RecordProcessTest, EntriesAreBehindEndbr64) {
  FakeIoc ioc;
  const RecordTarget target = target_of(ioc);
  const bool is_guarded = first_byte(target, target.offset) == 0xf3;
  EXPECT_EQ(is_guarded, GetParam().guarded && elf::own_decoder() == elf::decode_x86_64);
  EXPECT_EQ(target.code->entry(target.offset).offset, target.offset + (is_guarded ? 4 : 0));
  const auto slot = watch(ioc);
  ioc.ask("call 1 23");
  const ProbeHits hits = counts(slot).hits;
  EXPECT_EQ(hits.entries, 23u);
  EXPECT_EQ(hits.stepped, target.code->entry(target.offset).stepped ? 23u : 0u);
  EXPECT_EQ(hits.extras_stepped, 0u);
  EXPECT_GT(hits.entries_ns, 0u);
}

TEST_P(RecordProcessTest, HitsAfterAPauseOfTheThreadAreKnown) {
  FakeIoc ioc;
  const auto slot = watch(ioc);
  for (int i = 0; i < 7; ++i) {
    ioc.ask("call 1 11");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  const ProbeHits hits = counts(slot).hits;
  EXPECT_EQ(hits.entries, 7u * 11);
  EXPECT_GE(hits.cold, 7u);
  EXPECT_LT(hits.cold, hits.entries);
}

TEST_P(RecordProcessTest, WritesByLinksAreKnownByTheirCaller) {
  FakeIoc ioc;
  RecordTarget target = target_of(ioc);
  iocs::ProbeTarget where{target.path, false, target.code, target.offset, {}};
  for (const char* const name : {"dbProcess", "dbPut", "dbDbPutValue", "dbProcessNotify"})
    where.functions.emplace(name, FakeIoc::code_of(name));
  const RecordPoints points = record_points(where, target, true, false, false);
  target.puts.link_from = points.puts.link_from;
  target.puts.link_size = points.puts.link_size;
  target.extras = points.extras;
  const auto slot = value_of(probe_->watch(target));
  ioc.ask({"link 0 23", "puts 1 7", "notify 11"});
  const auto records = value_of(probe_->collect(slot));
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].stats.puts[IOCX_PUT_LINK], 23u);
  EXPECT_EQ(records[0].stats.puts[IOCX_PUT_OTHER], 7u);
  EXPECT_EQ(counts(slot).hits.entries, 23u + 7 + 11);
  // dbProcessNotify of this program begins with neither push nor jump, whatever it is built with.
  EXPECT_TRUE(target.code->entry(FakeIoc::offset_of("dbProcessNotify")).stepped);
  const bool is_put_stepped = target.code->entry(FakeIoc::offset_of("dbPut")).stepped;
  EXPECT_EQ(counts(slot).hits.stepped, 11u + (is_put_stepped ? 23 + 7 : 0));
  EXPECT_EQ(counts(slot).hits.extras_stepped, counts(slot).hits.stepped);
  EXPECT_EQ(is_put_stepped, elf::own_decoder() != elf::decode_x86_64);
}

}  // namespace
}  // namespace ioc_exporter::records
