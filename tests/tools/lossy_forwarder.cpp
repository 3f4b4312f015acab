// lossy_forwarder: connects two network namespaces by a link that loses, reorders and repeats
// packets, until its standard input ends.
//
//   lossy_forwarder NAMESPACE_A ADDRESS_A NAMESPACE_B ADDRESS_B LOSS REORDER DUPLICATE SEED
//
// Namespaces by path (/run/netns/NAME, /proc/PID/ns/net), IPv4 addresses of one /24, percentages, a
// number. Prints @ready when packets can pass, and at its end what became of them.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "tools/lossy_link.h"

namespace {

using namespace ioc_exporter;
using namespace ioc_exporter::testing;

Result<UniqueFd> open_end(const char* path, const char* address) {
  const UniqueFd ns(::open(path, O_RDONLY | O_CLOEXEC));
  if (!ns) return last_error(std::string("open network namespace ") + path);
  return open_tun(ns.get(), "lossy0", address);
}

double number(const char* text, double largest) {
  char* end = nullptr;
  const double value = std::strtod(text, &end);
  if (end == text || *end != '\0' || value < 0 || value > largest) {
    std::fprintf(stderr, "lossy_forwarder: not a number from 0 to %.0f: %s\n", largest, text);
    std::exit(2);
  }
  return value;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 9) {
    std::fprintf(stderr,
                 "usage: lossy_forwarder NAMESPACE_A ADDRESS_A NAMESPACE_B ADDRESS_B LOSS REORDER "
                 "DUPLICATE SEED\n");
    return 2;
  }
  const LossyRates rates{number(argv[5], 100), number(argv[6], 100), number(argv[7], 100)};
  const auto seed = static_cast<std::uint32_t>(number(argv[8], 4294967295.0));
  auto a = open_end(argv[1], argv[2]);
  auto b = open_end(argv[3], argv[4]);
  for (const auto* end : {&a, &b})
    if (!*end) {
      std::fprintf(stderr, "lossy_forwarder: %s\n", end->error().message().c_str());
      return 1;
    }
  LossyLink link(std::move(*a), std::move(*b), rates, seed);
  std::printf("@ready\n");
  std::fflush(stdout);
  char buffer[64];
  while (::read(STDIN_FILENO, buffer, sizeof buffer) > 0) {
  }
  const LossyCounts counts = link.stop();
  std::printf("@seen %llu lost %llu reordered %llu duplicated %llu\n",
              static_cast<unsigned long long>(counts.seen),
              static_cast<unsigned long long>(counts.lost),
              static_cast<unsigned long long>(counts.reordered),
              static_cast<unsigned long long>(counts.duplicated));
  return 0;
}
