#include "puts/tap/kept_channels.h"

#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <unordered_map>
#include <utility>

#include "base/json_reader.h"
#include "base/log.h"
#include "base/owned_file.h"
#include "base/rooted_fs.h"
#include "base/wall_clock.h"
#include "exposition/json_text.h"
#include "puts/tap/tap.h"

namespace ioc_exporter::puts {

using exposition::append_json_list;
using exposition::append_json_text;
using exposition::JsonObject;

namespace {

constexpr const char* kName = "channels";
constexpr std::size_t kLargest = 256u << 20;

KeptCircuit read_circuit(const Json& json) {
  KeptCircuit circuit{json.at("seen").count(), json.text_at("user"), json.text_at("host"), {}};
  for (const Json& channel : json.at("channels").items())
    circuit.names.emplace(static_cast<std::uint32_t>(channel.at("sid").count()),
                          channel.at("pv").text());
  return circuit;
}

}  // namespace

Result<KeptCircuits> open_circuits(Tap& tap, std::chrono::steady_clock::time_point now) {
  // Before the circuits: one that uses the addresses and ports of another again since then has the
  // cookie of a socket that is gone.
  const auto sockets = tap.circuits().sockets();
  if (!sockets) return sockets.error();
  if (auto ok = tap.observe(now); !ok) return ok.error();
  KeptCircuits all = tap.circuits().not_met();
  std::unordered_map<std::uint64_t, std::uint64_t> cookies;
  auto read = tap.object().maps().flows.for_each([&](const auto& key, const iocx_ca_flow& flow) {
    const auto socket = sockets->find(key);
    if (flow.ended || socket == sockets->end() || socket->second == 0) return;
    cookies.emplace(flow.circuit, socket->second);
    KeptCircuit& circuit = all[socket->second];
    circuit.seen_ns = kernel_ns(now);
    if (const auto* const known = tap.circuits().identity(flow.circuit)) {
      circuit.user = known->user;
      circuit.host = known->host;
    }
    circuit.names = tap.circuits().kept_names(flow.circuit);
  });
  if (!read) return read.error();
  tap.channels().for_each_named([&](const iocx_ca_channel& channel, const PutLabels& labels) {
    const auto cookie = cookies.find(channel.circuit);
    if (cookie == cookies.end()) return;
    KeptCircuit& circuit = all[cookie->second];
    circuit.user = labels.user;
    circuit.host = labels.host;
    circuit.names.insert_or_assign(channel.sid, labels.pv);
  });
  std::erase_if(all, [](const auto& one) { return one.second.names.empty(); });
  return all;
}

std::string kept_text(const std::string& boot, const KeptCircuits& circuits) {
  std::string text = "{\"boot\":";
  append_json_text(text, boot);
  append_json_list(text += ",\"circuits\":", circuits, [&text](const auto& one) {
    JsonObject circuit(text);
    circuit.number("socket", one.first);
    circuit.number("seen", one.second.seen_ns);
    circuit.text("user", one.second.user);
    circuit.text("host", one.second.host);
    append_json_list(circuit.key("channels"), one.second.names, [&text](const auto& name) {
      JsonObject channel(text);
      channel.number("sid", name.first);
      channel.text("pv", name.second);
    });
  });
  return text + "}\n";
}

Result<KeptCircuits> read_kept(std::string_view text, const std::string& boot) {
  return read_json(text, [&boot](const Json& file) {
    KeptCircuits circuits;
    if (file.at("boot").text() != boot) return circuits;
    for (const Json& one : file.at("circuits").items())
      circuits.emplace(one.at("socket").count(), read_circuit(one));
    return circuits;
  });
}

Result<void> ChannelsFile::open_file(const std::string& folder) {
  const auto opened = open_owned_folder(folder);
  if (!opened) return opened.error();
  auto file = open_owned_file(opened->get(), path_, kName);
  if (!file) return std::move(file).error();
  if (::flock(file->get(), LOCK_EX | LOCK_NB) != 0)
    return errno == EWOULDBLOCK ? error_in_words("use " + folder + ": another exporter does")
                                : last_error("lock " + path_);
  file_ = std::move(*file);
  return {};
}

KeptCircuits ChannelsFile::open(const std::string& folder, const std::string& boot) {
  if (folder.empty()) return {};
  path_ = folder + "/" + kName;
  boot_ = boot;
  if (auto opened = open_file(folder); !opened) {
    ++sample_.open;
    problem_ = "names of open channels do not outlive the exporter: " + opened.error().message();
    log::warn("{}", problem_);
    return {};
  }
  const auto text = RootedFs().read_regular(path_, kLargest);
  if (text && text->empty()) return {};  // it is new
  auto circuits = text ? read_kept(*text, boot) : Result<KeptCircuits>(text.error());
  // One start takes them: a later one, after a kill, would know names of long ago.
  if (circuits && ::ftruncate(file_.get(), 0) != 0)
    circuits = Result<KeptCircuits>(last_error("empty it"));
  if (circuits) return std::move(*circuits);
  ++sample_.read;
  log::warn("read {}: {}: this file is ignored", path_, circuits.error().message());
  return {};
}

// Not to the disk itself: another start of the host takes nothing.
Result<void> ChannelsFile::write(const KeptCircuits& circuits) {
  const std::string action = "write " + path_, text = kept_text(boot_, circuits);
  if (::lseek(file_.get(), 0, SEEK_SET) != 0) return last_error(action);
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t more = ::write(file_.get(), text.data() + done, text.size() - done);
    if (more < 0 && errno != EINTR) return last_error(action);
    if (more > 0) done += static_cast<std::size_t>(more);
  }
  if (::ftruncate(file_.get(), static_cast<off_t>(text.size())) != 0) return last_error(action);
  return {};
}

}  // namespace ioc_exporter::puts
