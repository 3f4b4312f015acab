#include "puts/tap/pins.h"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/wall_clock.h"
#include "kernel/libbpf_support.h"
#include "shared/ca_tap.h"

namespace ioc_exporter::ca {
namespace {

constexpr const char* kState = "ca_state";
constexpr const char* kCookies = "ca_cookies";

// The one value of ca_state. It is pinned last: without it, nothing that is there is whole.
struct State {
  std::uint32_t layout;  // IOCX_CA_LAYOUT
  std::uint32_t pad;
  std::uint64_t alive_ns;
};

std::string number_pair(std::uint32_t before, std::uint32_t now) {
  return std::to_string(before) + ", now " + std::to_string(now);
}

}  // namespace

Result<CaPins> CaPins::open(const std::string& directory) {
  const std::string action = "keep the channel table in " + directory;
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) return last_error(action);
  UniqueFd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return last_error(action);
  struct statfs fs {};
  if (::fstatfs(fd.get(), &fs) != 0) return last_error(action);
  if (static_cast<std::uint64_t>(fs.f_type) != BPF_FS_MAGIC)
    return error_in_words(action + ": that is no directory of a bpffs");
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return last_error(action);
    return error_from_errno(EBUSY, action + ", which another ioc_exporter uses");
  }
  return CaPins(directory, std::move(fd));
}

// Nothing when there is no such pin.
Result<std::optional<UniqueFd>> CaPins::get(const std::string& name) const {
  const int fd = bpf_obj_get(path(name).c_str());
  if (fd >= 0) return std::optional<UniqueFd>(UniqueFd(fd));
  if (fd == -ENOENT) return std::optional<UniqueFd>();
  return error_from_errno(-fd, "open pinned BPF map " + path(name));
}

// In words; nothing when the pinned map can be used in place of `map`.
std::optional<std::string> CaPins::mismatch(const bpf_map* map, int pinned) const {
  bpf_map_info info{};
  std::uint32_t length = sizeof info;
  if (bpf_obj_get_info_by_fd(pinned, &info, &length) < 0) return "it cannot be read";
  const std::string name = bpf_map__name(map);
  if (info.type != static_cast<std::uint32_t>(bpf_map__type(map)) ||
      info.map_flags != bpf_map__map_flags(map))
    return name + " is of another kind";
  if (info.key_size != bpf_map__key_size(map))
    return name + " had keys of " + number_pair(info.key_size, bpf_map__key_size(map)) + " bytes";
  if (info.value_size != bpf_map__value_size(map))
    return name + " had values of " + number_pair(info.value_size, bpf_map__value_size(map)) +
           " bytes";
  if (info.max_entries != bpf_map__max_entries(map))
    return name + " had room for " + number_pair(info.max_entries, bpf_map__max_entries(map));
  return std::nullopt;
}

Result<void> CaPins::adopt(const std::vector<bpf_map*>& maps, std::uint32_t max_circuits) {
  auto state = get(kState);
  if (!state) return std::move(state).error();
  auto cookies = get(kCookies);
  if (!cookies) return std::move(cookies).error();
  if (!*state) return make_own_maps(max_circuits);
  state_fd_ = std::move(**state);
  if (auto ok = read_state(); !ok) return ok;
  if (why_anew_.empty() && !*cookies) why_anew_ = "ca_cookies is missing";
  std::vector<UniqueFd> pinned;
  for (const bpf_map* map : maps) {
    auto fd = get(bpf_map__name(map));
    if (!fd) return std::move(fd).error();
    if (!why_anew_.empty()) continue;
    if (!*fd)
      why_anew_ = std::string(bpf_map__name(map)) + " is missing";
    else
      why_anew_ = mismatch(map, (*fd)->get()).value_or("");
    if (*fd) pinned.push_back(std::move(**fd));
  }
  if (!why_anew_.empty()) return make_own_maps(max_circuits);
  for (std::size_t i = 0; i < maps.size(); ++i)
    if (const int err = bpf_map__reuse_fd(maps[i], pinned[i].get()); err < 0)
      return kernel::libbpf_error(err, std::string("use pinned BPF map ") + bpf_map__name(maps[i]));
  cookies_fd_ = std::move(**cookies);
  auto view = kernel::MapView<std::uint64_t, std::uint64_t>::from_fd(cookies_fd_.get());
  if (!view) return std::move(view).error();
  cookies_ = std::move(*view);
  adopted_ = true;
  return {};
}

Result<void> CaPins::read_state() {
  auto view = kernel::MapView<std::uint32_t, State>::from_fd(state_fd_.get());
  if (!view) {
    why_anew_ = "ca_state is of another kind";
    return {};
  }
  auto state = view->lookup(0);
  if (!state) return std::move(state).error();
  last_alive_ns_ = *state ? (*state)->alive_ns : 0;
  if (!*state || (*state)->layout != IOCX_CA_LAYOUT)
    why_anew_ = "its layout was " + number_pair(*state ? (*state)->layout : 0, IOCX_CA_LAYOUT);
  return {};
}

Result<void> CaPins::make_own_maps(std::uint32_t max_circuits) {
  bpf_map_create_opts options{};
  options.sz = sizeof options;
  state_fd_.reset(bpf_map_create(BPF_MAP_TYPE_ARRAY, kState, 4, sizeof(State), 1, &options));
  if (!state_fd_) return last_error("make BPF map ca_state");
  options.map_flags = BPF_F_NO_PREALLOC;
  cookies_fd_.reset(bpf_map_create(BPF_MAP_TYPE_HASH, kCookies, 8, 8, max_circuits, &options));
  if (!cookies_fd_) return last_error("make BPF map ca_cookies");
  auto view = kernel::MapView<std::uint64_t, std::uint64_t>::from_fd(cookies_fd_.get());
  if (!view) return std::move(view).error();
  cookies_ = std::move(*view);
  return {};
}

Result<void> CaPins::unpin_all() const {
  for (const char* name :
       {kState, kCookies, "ca_flows", "ca_sids", "ca_cids", "ca_channel_info", "ca_channels"})
    if (::unlink(path(name).c_str()) != 0 && errno != ENOENT)
      return last_error("remove pinned BPF map " + path(name));
  return {};
}

Result<void> CaPins::pin(const std::vector<bpf_map*>& maps) {
  if (adopted_) return note_alive();
  if (auto ok = unpin_all(); !ok) return ok;
  std::vector<std::pair<std::string, int>> all;
  for (const bpf_map* map : maps) all.emplace_back(bpf_map__name(map), bpf_map__fd(map));
  all.emplace_back(kCookies, cookies_fd_.get());
  all.emplace_back(kState, state_fd_.get());
  if (auto ok = note_alive(); !ok) return ok;
  for (const auto& [name, fd] : all)
    if (const int err = bpf_obj_pin(fd, path(name).c_str()); err < 0)
      return error_from_errno(-err, "pin BPF map as " + path(name));
  return {};
}

Result<void> CaPins::note_alive() const {
  const std::uint32_t only = 0;
  const State state{IOCX_CA_LAYOUT, 0, clock_ns(CLOCK_BOOTTIME)};
  const int err = bpf_map_update_elem(state_fd_.get(), &only, &state, BPF_ANY);
  if (err < 0) return error_from_errno(-err, "write to BPF map ca_state");
  return {};
}

}  // namespace ioc_exporter::ca
