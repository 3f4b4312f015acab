// The cost of a scrape: many records with histograms of seven buckets, from the request over
// reading the counts out of a BPF map to the last byte at the client.
//
//   scrape ours|prometheus-cpp RECORDS [TIMES [HEADER...]]
//
// `HEADER` goes into the request, as in "Accept-Encoding: gzip". prometheus-cpp serves the same
// series by its Exposer, and its serializer is timed alone. The client is another process, whose
// CPU time does not count. Needs root.
#include <arpa/inet.h>
#include <prometheus/exposer.h>
#include <prometheus/text_serializer.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <functional>

#include "scrape_load.h"
#include "scrape_peer.h"
#include "support/snapshot.h"
#include "web/scraper.h"
#include "web/server.h"

namespace {

using namespace scrape_bench;

double cpu_ms() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

double wall_ms() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(now).count();
}

// "VmHWM" or "VmRSS", in MB.
double memory_mb(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind(field + ":", 0) == 0) return std::stod(line.substr(field.size() + 1)) / 1024;
  return 0;
}

// The bytes of one answer, head included.
std::uint64_t get(std::uint16_t port, const std::string& headers) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    fail("connect to the server");
  const std::string request =
      "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + headers + "\r\n";
  if (::send(fd, request.data(), request.size(), 0) != static_cast<ssize_t>(request.size()))
    fail("send a request");
  std::uint64_t bytes = 0;
  static char buffer[1 << 18];
  for (ssize_t got = 0; (got = ::read(fd, buffer, sizeof buffer)) > 0;)
    bytes += static_cast<std::uint64_t>(got);
  ::close(fd);
  return bytes;
}

// A process that asks when it is told to, and says how many bytes came.
class Client {
 public:
  explicit Client(std::string headers) {
    int down[2], up[2];
    if (::pipe(down) != 0 || ::pipe(up) != 0) fail("make a pipe");
    if (::fork() == 0) {
      ::close(down[1]);
      std::uint16_t port = 0;
      while (::read(down[0], &port, sizeof port) == sizeof port) {
        const std::uint64_t bytes = get(port, headers);
        if (::write(up[1], &bytes, sizeof bytes) != sizeof bytes) break;
      }
      ::_exit(0);
    }
    ::close(down[0]);
    ask_ = down[1];
    answer_ = up[0];
  }
  std::uint64_t get_once(std::uint16_t port) const {
    std::uint64_t bytes = 0;
    if (::write(ask_, &port, sizeof port) != sizeof port ||
        ::read(answer_, &bytes, sizeof bytes) != sizeof bytes)
      fail("the client has gone");
    return bytes;
  }

 private:
  int ask_ = -1, answer_ = -1;
};

void measure(const Client& client, std::uint16_t port, int times) {
  std::vector<double> cpu, wall;
  std::uint64_t bytes = 0;
  client.get_once(port);  // the first makes what is kept
  for (int i = 0; i < times; ++i) {
    const double cpu_before = cpu_ms(), wall_before = wall_ms();
    bytes = client.get_once(port);
    wall.push_back(wall_ms() - wall_before);
    cpu.push_back(cpu_ms() - cpu_before);
  }
  std::ranges::sort(cpu);
  std::ranges::sort(wall);
  std::printf("%8.1f %8.1f %10.2f %8.1f %8.1f\n", cpu[cpu.size() / 2], wall[wall.size() / 2],
              static_cast<double>(bytes) / 1e6, memory_mb("VmHWM"), memory_mb("VmRSS"));
}

void serve_ours(std::size_t records, int times, const Client& client) {
  const auto counts = make_counts(records);
  const auto database = make_database(records);
  records::LabelCache labels;
  web::Scraper scraper([&](exposition::Encoder& encoder) {
    encode_snapshot(read_snapshot(counts, database), {}, records::ShownEdges{}, labels, encoder);
  });
  web::ServerOptions options;
  options.listen = {"127.0.0.1:0"};
  options.routes["/metrics"] = [&](const web::Request& request) { return scraper.answer(request); };
  auto server = web::Server::start(std::move(options));
  if (!server) fail(server.error().message());
  measure(client, (*server)->port(), times);
}

void serve_prometheus_cpp(std::size_t records, int times, const Client& client) {
  auto peer = std::make_shared<PrometheusCpp>(make_counts(records), make_database(records));
  {
    const auto families = peer->Collect();
    const double before = cpu_ms();
    const std::string text = prometheus::TextSerializer().Serialize(families);
    std::fprintf(stderr, "prometheus-cpp's serializer alone: %.1f ms for %.2f MB\n",
                 cpu_ms() - before, static_cast<double>(text.size()) / 1e6);
  }
  prometheus::Exposer exposer("127.0.0.1:0");
  exposer.RegisterCollectable(peer);
  measure(client, static_cast<std::uint16_t>(exposer.GetListeningPorts().at(0)), times);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) fail("usage: scrape ours|prometheus-cpp RECORDS [TIMES [HEADER...]]");
  const std::string who = argv[1];
  const auto records = static_cast<std::size_t>(std::strtoull(argv[2], nullptr, 10));
  const int times = argc > 3 ? std::atoi(argv[3]) : 7;
  std::string headers;
  for (int i = 4; i < argc; ++i) headers.append(argv[i]).append("\r\n");
  if (records == 0 || times <= 0) fail("RECORDS and TIMES are numbers above 0");
  const Client client(headers);  // before the server has threads
  if (who == "ours")
    serve_ours(records, times, client);
  else
    serve_prometheus_cpp(records, times, client);
}
