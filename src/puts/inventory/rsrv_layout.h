// Structs of EPICS Base's CA server (rsrv) as they lie in an LP64 IOC's memory: bucketLib.h,
// rsrv/server.h, dbChannel.h, asLib.h, the same from 3.14.12 to 7.0.10 but for how a channel leads
// to its record. Ends of structs are left out.
#pragma once

#include "iocs/memory/base_layout.h"

namespace ioc_exporter::puts::layout {

using namespace iocs::layout;

// pCaBucket points to it: the hash of all channels by their SID.
struct Bucket {
  Address table;  // BucketItem **, mask + 1 of them
  Address free_list;
  std::uint32_t mask;
  std::uint32_t bits;
  std::uint32_t in_use;  // items
  std::uint32_t pad;
};
static_assert(sizeof(Bucket) == 32);

struct BucketItem {
  Address next;
  Address id;           // unsigned *: the SID, in the channel
  Address application;  // struct channel_in_use *
  std::int32_t type;    // buckTypeOfId
  std::int32_t pad;
};
static_assert(sizeof(BucketItem) == 32);
inline constexpr std::int32_t kIdIsUnsigned = 0;  // bidtUnsigned

// struct channel_in_use, up to where the versions part: 3.15.1 and later go on with a pointer to a
// dbChannel, those before with a dbAddr; then comes a pointer to an AsgClient.
struct ChannelInUse {
  EllNode node;
  EllList eventq;  // its monitors
  Address client;  // struct client *
  Address put_notify;
  std::uint32_t cid;
  std::uint32_t sid;
  std::uint32_t time_at_creation[2];
};
static_assert(offsetof(ChannelInUse, client) == 40);
static_assert(offsetof(ChannelInUse, sid) == 60);
static_assert(sizeof(ChannelInUse) == 72);

struct ChannelByDbChannel {  // since 3.15.1
  ChannelInUse common;
  Address db_channel;
  Address access;  // AsgClient *
};
static_assert(sizeof(ChannelByDbChannel) == 88);

struct ChannelByDbAddr {  // before
  ChannelInUse common;
  DbAddr address;
  Address access;
};
static_assert(offsetof(ChannelByDbAddr, access) == 112);

struct DbChannel {
  Address name;  // char *, as the client asked
  DbAddr address;
};

// A channel's client in access security.
struct AsgClient {
  EllNode node;
  Address member;
  Address user;
  Address host;
  Address user_private;  // rsrv: the channel
  Address callback;
  std::int32_t level;
  std::int32_t access;  // asAccessRights
};
static_assert(offsetof(AsgClient, access) == 60);
inline constexpr std::int32_t kAsNoAccess = 0;
inline constexpr std::int32_t kAsRead = 1;
inline constexpr std::int32_t kAsWrite = 2;

// struct client; the first of them is in clientQ.
struct RsrvClient {
  EllNode node;
  std::uint64_t send_buffer[3];
  std::uint64_t receive_buffer[3];
  Address locks[4];
  EllList channels;
  EllList channels_with_pending_access;
  EllList put_notify_queue;
  std::uint16_t family;  // struct sockaddr_in of the peer
  std::uint8_t port[2];  // in network order, as the address
  std::uint8_t address[4];
  std::uint64_t pad;
  std::uint32_t times[4];
  Address events;
  Address user;  // char *, null before the client has said it
  Address host;
};
static_assert(offsetof(RsrvClient, family) == 168);
static_assert(offsetof(RsrvClient, user) == 208);
static_assert(sizeof(RsrvClient) == 224);

// struct event_user of dbEvent.c, RsrvClient.events. Its own client's address, the argument of the
// "extra labor" function, stands at a place that depends on the version, and leads to the flags.
struct EventFlags {
  std::uint8_t exit_pending;
  std::uint8_t extra_labor;
  std::uint8_t flow_control;  // EVENTS_OFF
  std::uint8_t extra_labor_busy;
};
static_assert(sizeof(EventFlags) == 4);
struct EventUserPlaces {
  std::uint32_t client;  // offset of the client's address
  std::uint32_t flags;   // of EventFlags
};
inline constexpr EventUserPlaces kEventUserPlaces[]{
    {0x960, 0x978},    // 7.0.8 to 7.0.10
    {0x950, 0x96C},    // 7.0.3, 7.0.6 to 7.0.7
    {0x948, 0x964},    // 7.0.3.1 to 7.0.5
    {0x850, 0x86C},    // 3.15.0.1 to 7.0.2.2
    {0x1050, 0x106C},  // 3.14.12.8
    {0x1048, 0x1064},  // 3.14.12 to 3.14.12.7
};

}  // namespace ioc_exporter::puts::layout
