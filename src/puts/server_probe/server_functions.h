// Functions of an IOC's servers that the server probe attaches to.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "iocs/ioc.h"
#include "puts/server_key.h"

namespace ioc_exporter::puts {

// A function that a program runs at the entry of: `number` is its index in function_names().
struct ServerFunction {
  std::uint32_t number = 0;
  std::uint64_t offset = 0;  // in the file
  std::shared_ptr<const elf::CodeFile> file;
  std::string display_path;  // as the IOC sees it, for messages
  bool operator==(const ServerFunction&) const = default;
};

struct ServerFunctions {
  bool has_server = false;                 // of the IOC
  std::vector<ServerFunction> found = {};  // empty: puts cannot be counted
  bool reports_results = false;            // what becomes of puts, too
  bool reports_values = false;             // PV Access: what they write
  bool reports_callbacks = false;          // begin and end of every put with callback
  std::string missing = {};                // why not all puts can be counted; "": they can
};

// The function of CA that a thread calls when it has done all that it has read. For the put log.
constexpr std::uint32_t kCaFlush = 6;

// Of PV Access, those that only the put log is for.
bool is_for_put_log(std::uint32_t pva_function);

// CA: write_action and write_notify_action count puts, then come those that report their results,
// kCaFlush, and those of clients in the IOC itself.
std::span<const char* const> function_names(Protocol protocol);

ServerFunctions server_functions(const iocs::Ioc& ioc, Protocol protocol);

// Those at whose entries the kernel single-steps; "" = none.
std::string stepped_functions(const iocs::Ioc& ioc);

// What counting so many puts in the server took from the IOC: by the instruction that the first of
// the functions begins with.
double seconds_of_puts(const iocs::Ioc& ioc, Protocol protocol, std::uint64_t puts);

}  // namespace ioc_exporter::puts
