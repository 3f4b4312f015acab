// Decodes Channel Access circuits with the parser that the tap runs in the kernel, for tests that
// compare it with another one.
//
// stdin: support/decode_circuits.h. stdout, for each circuit: "user USER", "host HOST", "put OP
// NAME COUNT" (sorted; OP write or write_notify; NAME "?" when the SID is not known), "open NAME"
// for each channel still open (sorted), ".".
#include <map>
#include <set>

#include "support/ca_stream.h"
#include "support/decode_circuits.h"

namespace {

using ioc_exporter::ca::CaDirection;
using ioc_exporter::ca::CaEvent;
using ioc_exporter::ca::CaStream;

class Circuit {
 public:
  void feed(bool to_server, const std::vector<std::uint8_t>& segment) {
    CaStream& stream = to_server ? to_server_ : to_client_;
    for (const CaEvent& event : stream.feed(segment)) take(event);
  }

  void print() const {
    std::cout << "user " << user_ << "\nhost " << host_ << '\n';
    for (const auto& [key, count] : puts_)
      std::cout << "put " << key.first << ' ' << key.second << ' ' << count << '\n';
    std::multiset<std::string> open;
    for (const auto& [sid, name] : channels_) open.insert(name);
    for (const std::string& name : open) std::cout << "open " << name << '\n';
    std::cout << "." << std::endl;
  }

 private:
  void take(const CaEvent& event) {
    switch (event.kind) {
      case IOCX_CA_USER:
        user_ = event.text;
        break;
      case IOCX_CA_HOST:
        host_ = event.text;
        break;
      case IOCX_CA_CREATE:
        asked_[event.id] = event.text;
        break;
      case IOCX_CA_CREATED:
        channels_[event.other] = asked_[event.id];
        sids_[event.id] = event.other;
        break;
      case IOCX_CA_CLEAR:
        channels_.erase(event.id);
        break;
      case IOCX_CA_DISCONNECT:
        channels_.erase(sids_[event.id]);
        break;
      case IOCX_CA_PUT: {
        const auto channel = channels_.find(event.id);
        ++puts_[{event.notify ? "write_notify" : "write",
                 channel == channels_.end() ? "?" : channel->second}];
        break;
      }
      default:
        break;
    }
  }

  CaStream to_server_ = CaStream::from_start(CaDirection::to_server);
  CaStream to_client_ = CaStream::from_start(CaDirection::to_client);
  std::string user_, host_;
  std::map<std::uint32_t, std::string> asked_, channels_;  // by CID, by SID
  std::map<std::uint32_t, std::uint32_t> sids_;            // by CID
  std::map<std::pair<std::string, std::string>, std::uint64_t> puts_;
};

}  // namespace

int main() {
  return ioc_exporter::testing::decode_circuits("ca_decode", [] { return Circuit(); });
}
