#include "server_image.h"

#include <cstring>

namespace ioc_exporter::puts {

CaServerImage::CaServerImage(ChannelLayout layout, std::uint32_t bits)
    : layout_(layout), bucket_pointer_(address(&bucket_)), heads_(std::size_t{1} << bits) {
  bucket_.table = address(heads_.data());
  bucket_.mask = (1u << bits) - 1;
  bucket_.bits = bits;
}

layout::RsrvClient& CaServerImage::add_client(const Octets& octets, std::uint16_t port,
                                              const char* user, const char* host) {
  layout::RsrvClient& client = clients_.emplace_back();
  client.family = 2;
  std::memcpy(client.address, octets.data(), octets.size());
  client.port[0] = static_cast<std::uint8_t>(port >> 8);
  client.port[1] = static_cast<std::uint8_t>(port);
  if (user != nullptr) client.user = address(texts_.emplace_back(user).c_str());
  if (host != nullptr) client.host = address(texts_.emplace_back(host).c_str());
  client.node = {0, client_queue_.last};
  if (client_queue_.last != 0)
    reinterpret_cast<layout::EllNode*>(client_queue_.last)->next = address(&client);
  else
    client_queue_.first = address(&client);
  client_queue_.last = address(&client);
  ++client_queue_.count;
  return client;
}

layout::DbFldDes& CaServerImage::field(const std::string& name, std::int32_t type) {
  for (layout::DbFldDes& known : fields_)
    if (name == reinterpret_cast<const char*>(known.name)) return known;
  layout::DbFldDes& made = fields_.emplace_back();
  made.name = address(texts_.emplace_back(name).c_str());
  made.field_type = type;
  return made;
}

layout::DbAddr& CaServerImage::address_of(Channel& channel) {
  return layout_ == ChannelLayout::by_db_channel ? channel.db_channel.address
                                                 : channel.by_db_addr.address;
}

CaServerImage::Channel& CaServerImage::add_channel(layout::RsrvClient& client, std::uint32_t cid,
                                                   std::uint32_t sid, const std::string& asked,
                                                   const std::string& record,
                                                   const std::string& field_name) {
  Channel& channel = channels_.emplace_back();
  layout::ChannelInUse& common = channel.by_db_addr.common;
  common.client = address(&client);
  common.cid = cid;
  common.sid = sid;
  channel.name = asked;
  if (layout_ == ChannelLayout::by_db_channel) {
    channel.by_db_channel.db_channel = address(&channel.db_channel);
    channel.db_channel.name = address(channel.name.c_str());
  }
  Record& place = records_.emplace_back();
  std::memset(&place, 0, sizeof place);
  std::memcpy(place.name, record.data(), record.size());
  layout::DbFldDes& description = field(field_name);
  layout::DbAddr& where = address_of(channel);
  where.record = address(&place);
  where.description = address(&description);
  where.field_type = where.dbr_field_type = static_cast<std::int16_t>(description.field_type);
  std::uint64_t& head = heads_[bucket_of_sid(sid, bucket_)];
  channel.item = {head, address(&common.sid), address(&channel), layout::kIdIsUnsigned, 0};
  head = address(&channel.item);
  ++bucket_.in_use;
  return channel;
}

void CaServerImage::remove_channel(Channel& channel) {
  std::uint64_t* at = &heads_[bucket_of_sid(channel.by_db_addr.common.sid, bucket_)];
  while (*at != address(&channel.item)) at = &reinterpret_cast<layout::BucketItem*>(*at)->next;
  *at = channel.item.next;
  --bucket_.in_use;
}

layout::EventFlags& CaServerImage::add_events(layout::RsrvClient& client,
                                              const layout::EventUserPlaces& places) {
  auto& user = event_users_.emplace_back();
  client.events = address(user.data());
  user[places.client / sizeof user[0]] = address(&client);
  return *reinterpret_cast<layout::EventFlags*>(reinterpret_cast<char*>(user.data()) +
                                                places.flags);
}

void CaServerImage::secure(Channel& channel, std::int32_t access) {
  channel.access.user_private = address(&channel);
  channel.access.access = access;
  auto& pointer = layout_ == ChannelLayout::by_db_channel ? channel.by_db_channel.access
                                                          : channel.by_db_addr.access;
  pointer = address(&channel.access);
}

}  // namespace ioc_exporter::puts
