// For tests of read_ca_server(): a CA server's tables in this process' memory, in which
// things happen while it is read. Each test runs with both layouts of a channel.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "puts/inventory/server_reader.h"
#include "server_image.h"
#include "support/value_of.h"
#include "unit/iocs/database_image.h"

namespace ioc_exporter::puts {

// This process' memory, in which something happens after a number of reads.
class MovingMemory : public iocs::Memory {
 public:
  explicit MovingMemory(std::shared_ptr<iocs::Memory> memory) : memory_(std::move(memory)) {}

  Result<std::size_t> read_some(std::uint64_t address, std::span<std::byte> into) override {
    ++reads_;
    if (happens) happens(reads_);
    auto got = memory_->read_some(address, into);
    for (const auto& [at, value] : stale_)
      if (got && at >= address && at + sizeof value <= address + *got)
        std::memcpy(into.data() + (at - address), &value, sizeof value);
    return got;
  }
  std::function<void(int)> happens;
  // While it is there, this pointer reads as what it was before.
  void set_stale(const std::uint64_t& pointer, std::uint64_t before) {
    stale_[reinterpret_cast<std::uintptr_t>(&pointer)] = before;
  }
  void clear_stale() { stale_.clear(); }
  int reads() const { return reads_; }

 private:
  std::shared_ptr<iocs::Memory> memory_;
  std::map<std::uint64_t, std::uint64_t> stale_;
  int reads_ = 0;
};

inline CaPeer peer(const CaServerImage::Octets& octets, std::uint16_t port) {
  CaPeer at;
  at.address = {0, 0, 0,    0,    0,         0,         0,         0,
                0, 0, 0xFF, 0xFF, octets[0], octets[1], octets[2], octets[3]};
  at.port = port;
  return at;
}

class ReadCaServer : public ::testing::TestWithParam<ChannelLayout> {
 protected:
  void SetUp() override { ASSERT_NE(own_, nullptr); }

  bool keeps_asked_name() const { return GetParam() == ChannelLayout::by_db_channel; }
  Result<CaServerTables> read() {
    const iocs::CaServerSymbols symbols[]{image_.symbols()};
    return read_ca_server(memory_, symbols, peers_, "ioc X (pid 8)");
  }
  std::string failure() { return error_of(read()); }
  // After so many reads something happens.
  CaServerTables read_while(int reads, const std::function<void()>& what) {
    const int start = memory_.reads();
    memory_.happens = [&](int now) {
      if (now - start == reads) what();
    };
    const auto tables = read();
    memory_.happens = nullptr;
    return value_of(tables);
  }
  // Two clients with channels, one without.
  void fill() {
    ann_ = &image_.add_client({10, 0, 0, 7}, 40001, "ann", "console1");
    bob_ = &image_.add_client({127, 0, 0, 1}, 513, "bob", "console2");
    image_.add_client({10, 0, 0, 7}, 40002, nullptr, nullptr);
    peers_ = {peer({10, 0, 0, 7}, 40001), peer({127, 0, 0, 1}, 513), peer({10, 0, 0, 7}, 40002)};
    for (std::uint32_t i = 0; i < 23; ++i)
      image_.add_channel(i % 2 == 0 ? *ann_ : *bob_, 100 + i, 4090 + i, "R:" + std::to_string(i),
                         "R:" + std::to_string(i), "VAL");
  }
  static const CaServerClient* client(const CaServerTables& tables, const std::string& user) {
    for (const CaServerClient& client : tables.clients)
      if (client.user == user) return &client;
    return nullptr;
  }
  static std::map<std::uint32_t, CaServerChannel> by_sid(const CaServerTables& tables) {
    std::map<std::uint32_t, CaServerChannel> all;
    for (const CaServerClient& client : tables.clients)
      for (const CaServerChannel& channel : client.channels) all.emplace(channel.sid, channel);
    return all;
  }

  std::shared_ptr<iocs::ProcMemory> own_ = iocs::own_memory();
  MovingMemory memory_{own_};
  CaServerImage image_{GetParam()};
  CaPeers peers_;
  layout::RsrvClient* ann_ = nullptr;
  layout::RsrvClient* bob_ = nullptr;
  CaServerImage::Channel* channel_after_ = nullptr;
};

inline auto both_layouts() {
  return ::testing::Values(ChannelLayout::by_db_channel, ChannelLayout::by_db_addr);
}
inline std::string layout_name(const ::testing::TestParamInfo<ChannelLayout>& layout) {
  return layout.param == ChannelLayout::by_db_channel ? "DbChannel" : "DbAddr";
}

}  // namespace ioc_exporter::puts
