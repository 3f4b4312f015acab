// Functions of an IOC's servers that the server probe attaches to.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "exposition/self_samples.h"
#include "iocs/ioc.h"
#include "puts/totals/samples.h"

namespace ioc_exporter::ca {

enum class ServerProtocol : std::uint8_t { ca, pva };

// A function that a program runs at the entry of: `number` is its index in function_names().
struct ServerFunction {
  std::uint32_t number = 0;
  std::uint64_t offset = 0;  // in the file
  std::shared_ptr<const iocs::CodeFile> file;
  std::string display_path;  // as the IOC sees it, for messages
  bool operator==(const ServerFunction&) const = default;
};

struct ServerFunctions {
  bool is_served = false;                  // the IOC has such a server
  std::vector<ServerFunction> found = {};  // empty: puts cannot be counted
  bool tells_results = false;              // what becomes of puts, too
  bool tells_values = false;               // PV Access: what they write
  bool tells_callbacks = false;            // begin and end of every put with callback
  std::string missing = {};                // why not all puts can be counted; "": they can
};

// The function of CA that a thread calls when it has done all that it has read. For the put log.
constexpr std::uint32_t kCaFlush = 6;

// Of PV Access, those that only the put log is for.
bool is_for_put_log(std::uint32_t pva_function);

// CA: write_action and write_notify_action count puts, then come those that report their results,
// kCaFlush, and those of clients in the IOC itself.
std::span<const char* const> function_names(ServerProtocol protocol);

ServerFunctions server_functions(const iocs::Ioc& ioc, ServerProtocol protocol);

// Those at whose entries the kernel single-steps; "" = none.
std::string stepped_functions(const iocs::Ioc& ioc);
// What counting a put takes: by the instruction that the first of the functions begins with.
double seconds_of_put(const iocs::Ioc& ioc, ServerProtocol protocol);

// Adds what counting in the server took from each IOC, by self.put_sources of the protocol.
void add_overhead(const std::vector<PutSample>& puts, const std::string& protocol,
                  SelfSamples& self);

}  // namespace ioc_exporter::ca
