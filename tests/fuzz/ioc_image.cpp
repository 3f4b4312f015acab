#include "ioc_image.h"

#include <array>

#include "puts/inventory/server_walk.h"

namespace fuzz {
namespace {

struct Field {
  const char* name;
  std::int16_t size;
  std::uint16_t offset;
};
constexpr std::array<Field, 15> kFields{{{"NAME", 61, 0},
                                         {"DESC", 41, 61},
                                         {"DISV", 2, 110},
                                         {"DISA", 2, 112},
                                         {"STAT", 2, 120},
                                         {"PACT", 1, 131},
                                         {"SEVR", 2, 122},
                                         {"LCNT", 1, 130},
                                         {"PUTF", 1, 132},
                                         {"RPRO", 1, 133},
                                         {"DISP", 1, 134},
                                         {"PPN", 8, 160},
                                         {"TIME", 8, 168},
                                         {"RSET", 8, 200},
                                         {"SDIS", 80, 208}}};
constexpr std::size_t kRecordSize = 304, kRset = 200, kSdis = 208, kPact = 131;

}  // namespace

std::uint64_t IocImage::make_type(std::string_view name, std::span<const char* const> records,
                                  bool alias) {
  std::vector<std::uint64_t> fields;
  for (const Field& field : kFields) {
    layout::DbFldDes description{};
    description.name = add_text(field.name);
    description.size = field.size;
    description.offset = field.offset;
    fields.push_back(add(description));
  }
  field_ = fields.front();
  const std::uint64_t pointers = place(std::as_bytes(std::span(fields)));
  const std::uint64_t text = add_text(name);
  std::vector<std::uint64_t> nodes;
  for (const char* record : records) {
    std::array<std::byte, kRecordSize> raw{};
    std::memcpy(raw.data(), record, std::strlen(record));
    raw[kPact] = std::byte{record == records.back()};
    const std::uint64_t at = add(raw);
    if (first_record_ == 0) first_record_ = at;
    set(at + kRset, text);  // any address stands for its support
    set(at + kSdis, at);
    layout::DbRecordNode node{};
    node.precord = node.record_name = at;
    node.flags = 1;
    nodes.push_back(add(node));
  }
  if (alias) {
    auto node = get<layout::DbRecordNode>(nodes.front());
    node.record_name = add_text("F:other");
    node.flags = 1 | layout::kFlagIsAlias;
    nodes.push_back(add(node));
  }
  layout::DbRecordType type{};
  type.name = text;
  type.rec_list = chain(nodes);
  type.no_fields = static_cast<std::int16_t>(fields.size());
  type.fld_des = pointers;
  type.prset = text;
  type.rec_size = kRecordSize;
  return add(type);
}

void IocImage::make_database() {
  constexpr std::array kAi{"F:one", "F:two", "F:three"};
  constexpr std::array kCalc{"F:four", "F:five"};
  const std::array types{make_type("ai", kAi, true), make_type("calc", kCalc, false)};
  layout::DbBase root{};
  root.record_type_list = chain(types);
  pdbbase = add(add(root));
}

void IocImage::make_ca_server() {
  server_port = add(std::uint16_t{5064});
  for (std::uint8_t i = 1; i <= 2; ++i) {
    layout::RsrvClient client{};
    client.family = 2;
    client.port[1] = i;
    client.address[0] = 127;
    client.address[3] = 1;
    client.user = add_text("ann" + std::to_string(i));
    client.host = add_text("console");
    clients_.push_back(add(client));
  }
  server.client_queue = add(chain(clients_));
  layout::Bucket bucket{};
  bucket.bits = 2;
  bucket.mask = 3;
  std::array<std::uint64_t, 4> heads{};
  for (std::uint32_t i = 0; i < kImageChannels; ++i) {
    layout::DbChannel channel{};
    channel.name = add_text("F:one.VAL");
    channel.address.record = first_record_;
    channel.address.description = field_;
    layout::ChannelByDbChannel in_use{};
    in_use.common.client = clients_[i % clients_.size()];
    in_use.common.cid = 100 + i;
    in_use.common.sid = 7 + 5 * i;
    in_use.db_channel = add(channel);
    layout::AsgClient rights{};
    rights.access = layout::kAsWrite;
    in_use.access = add(rights);
    const std::uint64_t at = add(in_use);
    rights.user_private = at;
    set(in_use.access, rights);
    std::uint64_t& head = heads[puts::bucket_of_sid(in_use.common.sid, bucket)];
    head = add(layout::BucketItem{head, at + offsetof(layout::ChannelInUse, sid), at,
                                  layout::kIdIsUnsigned, 0});
    ++bucket.in_use;
  }
  bucket.table = add(heads);
  server.ca_bucket = add(add(bucket));
}

// The second client has turned its monitors off.
void IocImage::make_event_users() {
  constexpr layout::EventUserPlaces kPlaces = layout::kEventUserPlaces[0];
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    const std::uint64_t at =
        add(std::array<std::byte, kPlaces.flags + sizeof(layout::EventFlags)>{});
    set(at + kPlaces.client, clients_[i]);
    layout::EventFlags flags{};
    flags.flow_control = i == 1;
    set(at + kPlaces.flags, flags);
    set(clients_[i] + offsetof(layout::RsrvClient, events), at);
  }
}

void IocImage::make_scan_lists() {
  std::array<std::uint64_t, 3> lists{};
  for (std::size_t i = 0; i < 2; ++i) {
    layout::PeriodicScanList list{};
    list.scan_list.list.count = static_cast<std::int32_t>(7 * i);
    list.scan_list.list.first = i == 0 ? 0 : first_record_;
    list.period = i == 0 ? 10 : 0.1;
    list.name = add_text(".1 second");
    list.overruns = 23;
    lists[i] = add(list);
  }
  add_variable("papPeriodic", add(lists));
  add_variable("nPeriodic", std::int32_t{3});
}

void IocImage::make_queues() {
  std::array<std::array<std::byte, layout::kCallbackQueue7_0>, layout::kCallbackPriorities>
      queues{};
  for (auto& queue : queues) {
    layout::CallbackQueue raw{};
    raw.ring = add(layout::Ring{0, 7, 2, 2001, 9, 0});
    raw.overflows = 11;
    std::memcpy(queue.data(), &raw, sizeof raw);
  }
  add_variable("callbackQueue", queues);
  add_variable("onceQ", add(layout::Ring{0, 24 * 5, 24 * 3, 24 * 1000 + 16, 24 * 17, 0}));
  add_variable("onceQueueSize", std::int32_t{1000});
  add_variable("onceQOverruns", std::int32_t{3});
}

void IocImage::make_threads() {
  std::vector<std::uint64_t> nodes;
  for (const bool suspended : {false, true}) {
    std::array<std::byte, 512> raw{};
    const std::uint64_t at = add(raw);
    const std::uint64_t state = at + layout::kThreadState7_0_3_1;
    set(state, layout::ThreadState{suspended, 1, 1, 1});
    set(state + 24, std::uint32_t{59});
    set(state + 28, std::int32_t{1});
    constexpr std::string_view kName = "cbLow";
    for (std::size_t i = 0; i < kName.size(); ++i) set(state + 32 + i, kName[i]);
    nodes.push_back(at);
  }
  add_variable("pthreadList", chain(nodes));
}

}  // namespace fuzz
