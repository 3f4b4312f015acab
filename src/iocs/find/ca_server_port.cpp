#include "iocs/find/ca_server_port.h"

#include <string>

namespace ioc_exporter::iocs {

Result<std::optional<std::uint16_t>> read_ca_server_port(Memory& memory,
                                                         std::span<const std::uint64_t> candidates,
                                                         std::string_view subject) {
  const std::string what = "read the CA server's port of " + std::string(subject);
  if (candidates.empty()) return error_in_words(what + ": no symbol ca_server_port was found");
  std::optional<Error> failed;
  for (const std::uint64_t address : candidates) {
    const auto port = memory.value<std::uint16_t>(address);
    if (!port)
      failed = error_in_words(what + ": " + port.error().message());
    else if (*port != 0)
      return std::optional<std::uint16_t>(*port);
  }
  if (failed) return std::move(*failed);
  return std::optional<std::uint16_t>();
}

}  // namespace ioc_exporter::iocs
