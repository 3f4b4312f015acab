// The tables of a CA server as EPICS Base lays them out, in the test's own memory.
#pragma once

#include <deque>

#include "puts/inventory/channel_facts.h"
#include "puts/inventory/rsrv_layout.h"
#include "puts/inventory/server_reader.h"

namespace ioc_exporter::puts {

class CaServerImage {
 public:
  using Octets = std::array<std::uint8_t, 4>;

  struct Record {
    alignas(8) char name[64];
  };
  // Large enough for both layouts; each fills its own.
  struct Channel {
    union {
      layout::ChannelByDbChannel by_db_channel;
      layout::ChannelByDbAddr by_db_addr;
    };
    layout::BucketItem item{};
    layout::DbChannel db_channel{};
    layout::AsgClient access{};
    std::string name;
    Channel() : by_db_addr{} {}
  };

  explicit CaServerImage(ChannelLayout layout, std::uint32_t bits = 12);

  layout::RsrvClient& add_client(const Octets& address, std::uint16_t port, const char* user,
                                 const char* host);
  // `asked`: what a dbChannel keeps; record and field are where it leads.
  Channel& add_channel(layout::RsrvClient& client, std::uint32_t cid, std::uint32_t sid,
                       const std::string& asked, const std::string& record,
                       const std::string& field);
  void remove_channel(Channel& channel);
  layout::DbAddr& address_of(Channel& channel);
  layout::DbFldDes& field(const std::string& name, std::int32_t type = 8);
  void secure(Channel& channel, std::int32_t access);
  // Gives the client a struct event_user; its flags.
  layout::EventFlags& add_events(layout::RsrvClient& client, const layout::EventUserPlaces& places);

  iocs::CaServerSymbols symbols() const {
    return {address(&bucket_pointer_), address(&client_queue_)};
  }
  layout::Bucket& bucket() { return bucket_; }
  layout::EllList& client_queue() { return client_queue_; }
  std::vector<std::uint64_t>& heads() { return heads_; }
  std::uint64_t& bucket_pointer() { return bucket_pointer_; }

  template <class T>
  static std::uint64_t address(const T* object) {
    return reinterpret_cast<std::uintptr_t>(object);
  }

 private:
  ChannelLayout layout_;
  layout::Bucket bucket_{};
  std::uint64_t bucket_pointer_;
  std::vector<std::uint64_t> heads_;
  layout::EllList client_queue_{};
  std::deque<layout::RsrvClient> clients_;
  std::deque<Channel> channels_;
  std::deque<Record> records_;
  std::deque<std::array<std::uint64_t, 1024>> event_users_;
  std::deque<std::string> texts_;
  std::deque<layout::DbFldDes> fields_;
};

}  // namespace ioc_exporter::puts
