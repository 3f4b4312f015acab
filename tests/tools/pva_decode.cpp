// Decodes PV Access circuits with the parser in bpf/shared, for tests that know what was sent.
//
// stdin: support/decode_circuits.h. stdout, for each circuit: "client METHOD USER HOST", "put OP
// USER PV SENT OK FAILED ERROR" (sorted; PV "?" when it is not known), "open PV" for each channel
// still open (sorted), "requests N" that are set up, "waiting N" of puts that have no answer,
// "trouble NOT_PVA REFUSED UNREADABLE", ".". "--joined": as if the circuits were met on their way.
#include <cstring>

#include "support/decode_circuits.h"
#include "support/pva_circuit.h"

namespace {

using ioc_exporter::pva::PvaCircuit;
using ioc_exporter::pva::PvaDirection;

const char* or_unknown(const std::string& text) {
  return text.empty() ? "?" : text.c_str();
}

class Circuit {
 public:
  explicit Circuit(bool joined)
      : circuit_(joined ? PvaCircuit::joined() : PvaCircuit::from_start()) {}

  void feed(bool to_server, const std::vector<std::uint8_t>& segment) {
    circuit_.feed(to_server ? PvaDirection::to_server : PvaDirection::to_client, segment);
  }

  void print() const {
    std::cout << "client " << or_unknown(circuit_.method()) << ' ' << or_unknown(circuit_.user())
              << ' ' << or_unknown(circuit_.host()) << '\n';
    for (const auto& [key, puts] : circuit_.puts()) {
      const auto& [pv, user, op] = key;
      std::cout << "put " << op << ' ' << or_unknown(user) << ' ' << or_unknown(pv) << ' '
                << puts.sent << ' ' << puts.ok << ' ' << puts.failed << ' ' << puts.error << '\n';
    }
    for (const std::string& name : circuit_.channels()) std::cout << "open " << name << '\n';
    std::cout << "requests " << circuit_.requests() << "\nwaiting " << circuit_.waiting()
              << "\ntrouble " << !circuit_.is_pva() << ' ' << circuit_.refused() << ' '
              << circuit_.unreadable() << "\n." << std::endl;
  }

 private:
  PvaCircuit circuit_;
};

}  // namespace

int main(int argc, char** argv) {
  const bool joined = argc > 1 && std::strcmp(argv[1], "--joined") == 0;
  return ioc_exporter::testing::decode_circuits("pva_decode", [=] { return Circuit(joined); });
}
