// For tools that decode recorded circuits with a parser of the tap, for tests that know what they
// say.
//
// stdin, one line each: "S HEX" a segment to the server, "C HEX" one to the client, "." the
// circuit's end.
#pragma once

#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

namespace ioc_exporter::testing {

inline std::vector<std::uint8_t> from_hex(const std::string& hex) {
  std::vector<std::uint8_t> bytes;
  for (std::size_t at = 0; at + 1 < hex.size(); at += 2)
    bytes.push_back(static_cast<std::uint8_t>(std::stoul(hex.substr(at, 2), nullptr, 16)));
  return bytes;
}

// `make` makes a circuit, which has feed(to_server, bytes) and print(). Returns the exit status.
template <typename Make>
int decode_circuits(const char* tool, Make make) {
  auto circuit = make();
  std::string line;
  while (std::getline(std::cin, line)) {
    if (line == ".") {
      circuit.print();
      circuit = make();
    } else if (line.size() >= 2 && (line[0] == 'S' || line[0] == 'C') && line[1] == ' ') {
      circuit.feed(line[0] == 'S', from_hex(line.substr(2)));
    } else {
      std::cerr << tool << ": neither a segment nor an end: " << line.substr(0, 80) << '\n';
      return 2;
    }
  }
  return 0;
}

}  // namespace ioc_exporter::testing
