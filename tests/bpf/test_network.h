// Two network namespaces of a test's own and a cable between them. They go with the test.
#pragma once

#include <string>

#include "bpf/net_namespaces.h"

namespace ioc_exporter::testing {

// Two namespaces and a cable: eth0 in each, without addresses.
class TestNetwork {
 public:
  TestNetwork() {
    client.command("ip link add eth0 type veth peer name eth0 netns " + server.path());
    for (const NetNamespace* one : {&client, &server}) one->command("ip link set eth0 up");
  }
  // Addresses 10.7.0.x/24, x = 1 for the client and 2 for the server.
  void give_addresses(const std::string& client_device, const std::string& server_device) const {
    add_addresses(client, client_device, "1");
    add_addresses(server, server_device, "2");
  }

  NetNamespace client = NetNamespace::make(), server = NetNamespace::make();

 private:
  static void add_addresses(const NetNamespace& where, const std::string& device,
                            const std::string& number) {
    where.command("ip addr add 10.7.0." + number + "/24 dev " + device);
    where.command("ip link set " + device + " up");
  }
};

inline bool has_ip_command() {
  return std::system("ip -Version >/dev/null 2>&1") == 0;
}

}  // namespace ioc_exporter::testing
