// libFuzzer target for all that reads an IOC's memory: its database, its CA server's tables, scan
// lists, queues, threads and the states of its records.
//
// Input: changes to the memory of a small IOC, each when so many reads have been made. A change is
// 6 bytes: after how many reads (1 byte, times 2), what (1 byte: bits 0-1 the kind, bits 2-7 how
// many bytes), where (2 bytes), value (2 bytes). Kind 0: the value again and again; 1: a pointer to
// that place in the memory; 2: all bits set; 3: what stood in that place.
//
// For any of them: nothing outside the reader's own memory is touched (sanitizers),
// it comes to an end, what it tells is text and points to what is there; and without changes it
// tells all that is there.
#include <algorithm>

#include "fuzz.h"
#include "ioc_image.h"
#include "iocs/find/listening_sockets.h"
#include "iocs/memory/database_reader.h"
#include "iocs/memory/variables.h"
#include "puts/inventory/server_reader.h"
#include "records/memory/memory_watch.h"
#include "records/memory/record_states.h"

namespace {

using namespace fuzz;
using ioc_exporter::Result;

constexpr std::size_t kMostReads = 200'000;  // of one input; without changes it is about 100

class ChangingMemory : public iocs::Memory {
 public:
  ChangingMemory(const IocImage& image, std::span<const std::uint8_t> changes)
      : bytes_(image.bytes()), changes_(changes) {}

  Result<std::size_t> read_some(std::uint64_t address, std::span<std::byte> into) override {
    while (changes_.size() >= 6 && changes_[0] * std::size_t{2} <= reads_) change();
    check(++reads_ < kMostReads, "it does not come to an end");
    if (into.empty()) return std::size_t{0};
    if (address < kImageStart || address - kImageStart >= bytes_.size())
      return ioc_exporter::error_in_words("not mapped");
    const std::size_t at = address - kImageStart;
    const std::size_t size = std::min(into.size(), bytes_.size() - at);
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(at), size, into.begin());
    return size;
  }

 private:
  void change() {
    const auto number = [this](std::size_t i) {
      return static_cast<std::size_t>(changes_[i] | changes_[i + 1] << 8);
    };
    const std::size_t at = number(2) % bytes_.size(), value = number(4);
    std::size_t size = changes_[1] >> 2;
    std::uint64_t pattern = value * 0x0001000100010001;
    switch (changes_[1] & 3) {
      case 1:
        pattern = kImageStart + value;
        size = sizeof pattern;
        break;
      case 2:
        pattern = ~std::uint64_t{0};
        break;
      case 3:
        std::memcpy(&pattern, bytes_.data() + std::min(value, bytes_.size() - 8), sizeof pattern);
        break;
      default:
        break;
    }
    size = std::min(size, bytes_.size() - at);
    for (std::size_t i = 0; i < size; ++i)
      bytes_[at + i] = static_cast<std::byte>(pattern >> 8 * (i % sizeof pattern));
    changes_ = changes_.subspan(6);
  }

  std::vector<std::byte> bytes_;
  std::span<const std::uint8_t> changes_;
  std::size_t reads_ = 0;
};

bool is_text(const std::string& text) {
  return !text.empty() &&
         std::ranges::none_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

std::size_t read_database(ChangingMemory& memory, const IocImage& image) {
  const std::uint64_t places[] = {image.pdbbase};
  auto reading = iocs::read_database(memory, places, "ioc");
  if (!reading || !reading->ready()) return 0;
  const ioc_exporter::Database& database = *reading->database;
  for (const auto& record : database.records) {
    check(is_text(record.name), "a record's name is no text");
    check(record.type < database.types.size(), "a record's type is none");
  }
  for (const auto& alias : database.aliases) {
    check(is_text(alias.name), "an alias is no text");
    check(alias.record < database.records.size(), "an alias is no record's");
  }
  records::RecordStates states(reading->database, reading->offsets, std::chrono::seconds(0));
  for (int i = 0; i < 2; ++i) {
    auto done = states.read(memory, records::RecordStates::Clock::now() + std::chrono::hours(1));
    if (!done) continue;
    const auto sample = states.sample();
    for (const auto& stuck : sample->longest_stuck)
      check(stuck.record < database.records.size(), "a stuck record is none");
  }
  return database.records.size();
}

std::size_t read_server(ChangingMemory& memory, const IocImage& image) {
  puts::CaPeers peers;
  for (std::uint16_t port = 1; port <= 2; ++port)
    peers.insert({{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1}, port});
  const iocs::CaServerSymbols symbols[] = {image.server};
  auto tables = puts::read_ca_server(memory, symbols, peers, "ioc");
  std::size_t channels = 0, off = 0;
  if (!tables) return channels;
  for (const auto& client : tables->clients) {
    check(peers.contains(client.peer), "a client is nobody's peer");
    // Clients choose the names of channels: any bytes, also a tab in a filter.
    for (const auto& channel : client.channels) check(!channel.name.empty(), "a PV has no name");
    channels += client.channels.size();
    off += client.flow_controlled == true;
  }
  check(tables->channels == channels, "channels are counted wrongly");
  return channels + off;
}

std::size_t read_rest(ChangingMemory& memory, const IocImage& image) {
  const std::uint64_t places[] = {image.server_port};
  std::size_t told = 0;
  if (const auto port = iocs::read_ca_server_port(memory, places, "ioc"); port && *port) ++told;
  if (const auto lists = records::read_scan_lists(memory, image.variables)) told += lists->size();
  if (const auto queues = iocs::read_callback_queues(memory, image.variables)) {
    for (const auto& queue : *queues) check(queue.length <= queue.capacity, "a queue overflows");
    told += queues->size();
  }
  if (const auto threads = iocs::read_suspended_threads(memory, image.variables)) {
    for (const std::string& name : *threads) check(is_text(name), "a thread's name is no text");
    told += threads->size();
  }
  return told;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const IocImage image;
  // Each with the changes from their beginning: what comes first would use them up.
  ChangingMemory database(image, {data, size}), server(image, {data, size}),
      rest(image, {data, size});
  const std::size_t records = read_database(database, image);
  // And one for the client whose monitors are off.
  const std::size_t channels = read_server(server, image);
  const std::size_t told = read_rest(rest, image);
  if (size < 6)
    check(records == kImageRecords && channels == kImageChannels + 1 && told == 1 + 2 + 4 + 1,
          "what is there is not told");
  return 0;
}
