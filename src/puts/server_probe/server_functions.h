// Functions of an IOC's servers that the server probe attaches to.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "iocs/ioc.h"

namespace ioc_exporter::ca {

enum class ServerProtocol : std::uint8_t { ca, pva };

// A function that a program runs at the entry of: `number` is its index in function_names().
struct ServerFunction {
  std::uint32_t number = 0;
  std::uint64_t offset = 0;  // in the file
  std::shared_ptr<const iocs::CodeFile> file;
  std::string display_path;  // as the IOC sees it, for messages
};

struct ServerFunctions {
  bool is_served = false;                  // the IOC has such a server
  std::vector<ServerFunction> found = {};  // empty: puts cannot be counted
  bool tells_results = false;              // CA: what becomes of puts, too
  std::string missing = {};                // why not all puts can be counted; "": they can
};

// The function of CA that a thread calls when it has done all that it has read. For the put log.
constexpr std::uint32_t kCaFlush = 6;

// CA: write_action and write_notify_action count puts, the others report their results.
std::span<const char* const> function_names(ServerProtocol protocol);

ServerFunctions server_functions(const iocs::Ioc& ioc, ServerProtocol protocol);

}  // namespace ioc_exporter::ca
