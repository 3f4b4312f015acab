// A tap that watches a server for PV Access, what its maps say, and circuits whose messages the
// model (support/pva_circuit.h) reads as well.
#pragma once

#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>

#include "bpf/ca_tap_stream_fixture.h"
#include "puts/tap/tap_labels.h"
#include "support/pva_bytes.h"
#include "support/pva_circuit.h"

namespace ioc_exporter::testing {

inline constexpr std::uint32_t kPvaIoc = kIoc | IOCX_CA_IOC_PVA;

struct PvaCounts {
  std::uint64_t puts = 0;  // PUT and PUT_GET
  std::uint64_t rpcs = 0;
  std::uint64_t answered = 0;  // of both
  std::uint64_t failed = 0;
  bool operator==(const PvaCounts&) const = default;
};
inline void PrintTo(const PvaCounts& counts, std::ostream* out) {
  *out << counts.puts << " puts, " << counts.rpcs << " RPCs, " << counts.answered << " answered, "
       << counts.failed << " failed";
}
using PvaCountsByName = std::map<std::pair<std::string, std::string>, PvaCounts>;  // PV, user

// Of a model; adds to `counts`.
inline void add_counts(const puts::PvaCircuit& model, PvaCountsByName& counts) {
  for (const auto& [key, puts] : model.puts()) {
    const auto& [pv, user, op] = key;
    PvaCounts& to = counts[{pv, user}];
    (op == "rpc" ? to.rpcs : to.puts) += puts.sent;
    to.answered += puts.ok + puts.failed;
    to.failed += puts.failed;
  }
}

template <class Fixture>
class OfPva : public Fixture {
 protected:
  void SetUp() override {
    Fixture::SetUp();
    if (this->tap_) this->watch(this->listener_, kIoc, puts::Protocol::pva);
  }
  void start_pva(const puts::TapSizes& sizes) {
    this->start_blind(sizes);
    if (this->tap_) this->watch(this->listener_, kIoc, puts::Protocol::pva);
  }

  // What the kernel has counted, as its maps say. Clients without a user by `ca` have the user "".
  PvaCountsByName counted() {
    PvaCountsByName counts;
    const puts::TapObject& object = this->tap_->object();
    std::map<std::uint64_t, PvaCounts*> by_channel;
    for (std::uint32_t slot = 0; slot < object.max_channels(); ++slot) {
      const iocx_ca_channel& channel = object.channels()[slot];
      if (channel.puts[0] + channel.puts[1] == 0) continue;
      const auto info = object.maps().channel_info.lookup(channel.channel);
      if (!info || !*info) {
        ADD_FAILURE() << "slot " << slot << " has no channel";
        continue;
      }
      EXPECT_EQ((*info)->ioc, kPvaIoc);
      std::string user = puts::kernel_text((*info)->identity.user);
      if (user.ends_with('/')) user.clear();
      PvaCounts& to = counts[{puts::kernel_text((*info)->name), user}];
      to.puts += channel.puts[0];
      to.rpcs += channel.puts[1];
      by_channel[channel.channel] = &to;
    }
    auto read = object.maps().outcomes.for_each([&](std::uint64_t channel, const auto& outcome) {
      if (by_channel.contains(channel))
        by_channel[channel]->answered += std::accumulate(
            std::begin(outcome.buckets), std::end(outcome.buckets), std::uint64_t{0});
    });
    EXPECT_TRUE(read);
    read = object.maps().failures.for_each([&](const auto& key, const auto& failure) {
      if (by_channel.contains(key.channel)) by_channel[key.channel]->failed += failure.count;
    });
    EXPECT_TRUE(read);
    return counts;
  }
  PvaCounts counted(const std::string& pv) {
    PvaCounts sum;
    for (const auto& [key, one] : counted()) {
      if (key.first != pv) continue;
      sum.puts += one.puts;
      sum.rpcs += one.rpcs;
      sum.answered += one.answered;
      sum.failed += one.failed;
    }
    return sum;
  }
  std::uint64_t failures(std::uint32_t status) {
    std::uint64_t sum = 0;
    auto read =
        this->tap_->object().maps().failures.for_each([&](const auto& key, const auto& failure) {
          if (key.status == status) sum += failure.count;
        });
    EXPECT_TRUE(read);
    return sum;
  }
  std::uint64_t requests() {
    auto keys = this->tap_->object().maps().pending.keys();
    return keys ? keys->size() : 0;
  }
  // The only connection that has not ended.
  iocx_ca_flow flow() {
    iocx_ca_flow one{};
    auto read = this->tap_->object().maps().flows.for_each([&](const auto&, const auto& each) {
      if (!each.ended) one = each;
    });
    EXPECT_TRUE(read);
    return one;
  }

  static constexpr std::uint32_t kPut = IOCX_PVA_CMD_PUT, kPutGet = IOCX_PVA_CMD_PUT_GET,
                                 kRpc = IOCX_PVA_CMD_RPC;
  // What a client and a server send first; two channels A and B by one message, SIDs 11 and 12.
  static Bytes hello(const PvaBytes& b, const std::string& user = "anna") {
    return b.identify("ca", b.user_and_host(user, "console-1")) + b.create({{1, "A"}, {2, "B"}});
  }
  static Bytes greeting(const PvaBytes& b) { return b.byte_order() + b.offer(); }
  static Bytes welcome(const PvaBytes& b) {
    return b.validated() + b.created(1, 11) + b.created(2, 12);
  }
};

// A circuit on loopback and its model.
class PvaWire {
 public:
  explicit PvaWire(const Listener& listener) : circuit_(listener) {}
  void to_server(const Bytes& bytes) { to_server_in_pieces(bytes, bytes.size()); }
  void to_client(const Bytes& bytes) { to_client_in_pieces(bytes, bytes.size()); }
  void to_server_in_pieces(const Bytes& bytes, std::size_t piece) {
    circuit_.to_server_in_pieces(bytes, piece);
    model_.feed(puts::PvaDirection::to_server, bytes);
  }
  void to_client_in_pieces(const Bytes& bytes, std::size_t piece) {
    circuit_.to_client_in_pieces(bytes, piece);
    model_.feed(puts::PvaDirection::to_client, bytes);
  }
  Circuit& circuit() { return circuit_; }
  const puts::PvaCircuit& model() const { return model_; }

 private:
  Circuit circuit_;
  puts::PvaCircuit model_ = puts::PvaCircuit::from_start();
};

// On loopback.
class PvaTapTest : public OfPva<CaTapTest> {
 protected:
  void open(PvaWire& wire, const PvaBytes& b, const std::string& user = "anna") {
    wire.to_client(greeting(b));
    wire.to_server(hello(b, user));
    wire.to_client(welcome(b));
  }
  // A request and its answer.
  void init(PvaWire& wire, const PvaBytes& b, std::uint32_t sid, std::uint32_t ioid,
            std::uint32_t command = kPut) {
    wire.to_server(b.init(command, sid, ioid));
    wire.to_client(b.answer(command, ioid, IOCX_PVA_SUB_INIT));
  }
  void expect_as(const PvaWire& wire) {
    PvaCountsByName expected;
    add_counts(wire.model(), expected);
    EXPECT_EQ(counted(), expected);
  }

  const PvaBytes b_{false};
};

}  // namespace ioc_exporter::testing
