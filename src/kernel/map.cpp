#include "kernel/map.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/mman.h>

#include <algorithm>
#include <memory>
#include <numeric>

namespace ioc_exporter::kernel {

Result<MapMemory> MapMemory::map(int fd, std::size_t size, const std::string& name, Access access) {
  const int protection = access == Access::write ? PROT_READ | PROT_WRITE : PROT_READ;
  void* at = ::mmap(nullptr, size, protection, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) return error_from_errno(errno, "map BPF map " + name + " into memory");
  // Helpers have no use for it, and to copy its page tables takes longer than all else that a fork
  // does.
  static_cast<void>(::madvise(at, size, MADV_DONTFORK));
  MapMemory memory;
  memory.data_ = at;
  memory.size_ = size;
  return memory;
}

MapMemory::MapMemory(MapMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MapMemory& MapMemory::operator=(MapMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MapMemory::~MapMemory() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

int possible_cpus() {
  static const int cpus = libbpf_num_possible_cpus();
  return cpus;
}

namespace detail {
namespace {

// libbpf 1.x returns a negative errno; 0 is success.
Error map_error(int negative_errno, const char* action, const std::string& name) {
  return error_from_errno(-negative_errno, std::string(action) + " BPF map " + name);
}

Result<void> read_one_by_one(int fd, const MapShape& shape, std::size_t stride,
                             const std::function<void(const RawEntries&)>& each) {
  const auto value = std::make_unique_for_overwrite<unsigned char[]>(stride);
  return map_walk_keys(fd, shape, [&](const void* key) {
    if (bpf_map_lookup_elem(fd, key, value.get()) < 0) return;  // gone meanwhile
    each({static_cast<const unsigned char*>(key), value.get(), 1});
  });
}

// Memory that nobody wrote to yet: the kernel fills it. Aligned for any type, as all that is from
// operator new.
struct Batch {
  Batch(std::size_t key_bytes, std::size_t value_bytes)
      : keys(std::make_unique_for_overwrite<unsigned char[]>(key_bytes)),
        values(std::make_unique_for_overwrite<unsigned char[]>(value_bytes)) {}
  std::unique_ptr<unsigned char[]> keys, values;
};

}  // namespace

Result<MapShape> map_shape(int fd) {
  bpf_map_info info{};
  std::uint32_t length = sizeof info;
  const int err = bpf_obj_get_info_by_fd(fd, &info, &length);
  if (err < 0)
    return error_from_errno(-err, "ask the kernel about BPF map fd " + std::to_string(fd));
  return MapShape{info.name, info.key_size, info.value_size, info.max_entries};
}

Result<bool> map_lookup(int fd, const std::string& name, const void* key, void* value) {
  const int err = bpf_map_lookup_elem(fd, key, value);
  if (err == 0) return true;
  if (err == -ENOENT) return false;
  return map_error(err, "look up in", name);
}

Result<void> map_update(int fd, const std::string& name, const void* key, const void* value,
                        UpdateMode mode) {
  const std::uint64_t flags = mode == UpdateMode::only_new        ? BPF_NOEXIST
                              : mode == UpdateMode::only_existing ? BPF_EXIST
                                                                  : BPF_ANY;
  const int err = bpf_map_update_elem(fd, key, value, flags);
  if (err < 0) return map_error(err, "write to", name);
  return {};
}

Result<bool> map_erase(int fd, const std::string& name, const void* key) {
  const int err = bpf_map_delete_elem(fd, key);
  if (err == 0) return true;
  if (err == -ENOENT) return false;
  return map_error(err, "delete from", name);
}

Result<void> map_walk_keys(int fd, const MapShape& shape,
                           const std::function<void(const void*)>& each) {
  std::vector<unsigned char> key(shape.key_size);
  std::vector<unsigned char> next(shape.key_size);
  const void* previous = nullptr;
  if (fd < 0) return error_in_words("walk a BPF map: it was not opened");
  // A key that is deleted meanwhile makes the kernel start over: never take more than the map
  // holds.
  for (std::uint32_t taken = 0; taken < shape.max_entries; ++taken) {
    const int err = bpf_map_get_next_key(fd, previous, next.data());
    if (err == -ENOENT) break;
    if (err < 0) return map_error(err, "walk", shape.name);
    each(next.data());
    key.swap(next);
    previous = key.data();
  }
  return {};
}

Result<void> map_read_batches(int fd, const MapShape& shape, std::size_t stride,
                              const std::function<void(const RawEntries&)>& each) {
  // Most maps are nearly empty: the first batch is small, later ones grow with the map's content. A
  // batch fits the processor's cache, because its receiver reads it at once.
  constexpr std::size_t kFirstBatchBytes = 32u << 10, kBatchBytes = 256u << 10;
  // The position that the kernel hands back: 4 bytes for hashes; some map types take it for a key.
  std::vector<unsigned char> position(std::max<std::size_t>(shape.key_size, 8));
  if (fd < 0) return error_in_words("read a BPF map: it was not opened");
  const std::size_t entry_bytes = shape.key_size + stride;
  const auto most =
      static_cast<std::uint32_t>(std::max<std::size_t>(64, kBatchBytes / entry_bytes));
  auto batch =
      static_cast<std::uint32_t>(std::max<std::size_t>(64, kFirstBatchBytes / entry_bytes));
  Batch memory(batch * shape.key_size, batch * stride);
  const auto enlarge = [&](std::uint32_t entries) {
    batch = entries;
    memory = Batch(batch * shape.key_size, batch * stride);
  };
  const void* from = nullptr;
  for (;;) {
    std::uint32_t got = batch;
    const int err = bpf_map_lookup_batch(fd, const_cast<void*>(from), position.data(),
                                         memory.keys.get(), memory.values.get(), &got, nullptr);
    if (err == -ENOSPC) {  // one bucket of the hash holds more than the whole batch
      enlarge(batch * 2);
      continue;
    }
    if (err < 0 && err != -ENOENT) {
      if (from != nullptr) return map_error(err, "read a batch of", shape.name);
      return read_one_by_one(fd, shape, stride, each);
    }
    each({memory.keys.get(), memory.values.get(), got});
    if (err == -ENOENT) return {};  // that was the last of it
    from = position.data();
    if (batch < most) enlarge(std::min(batch * 4, most));
  }
}

}  // namespace detail

std::uint64_t sum_cpus(const std::vector<std::uint64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
}

Result<std::vector<std::uint64_t>> sum_per_cpu_counters(
    const MapView<std::uint32_t, std::uint64_t>& map, std::uint32_t counters) {
  std::vector<std::uint64_t> sums;
  sums.reserve(counters);
  for (std::uint32_t index = 0; index < counters; ++index) {
    auto values = map.lookup_cpus(index);
    if (!values) return std::move(values).error();
    sums.push_back(sum_cpus(*values));
  }
  return sums;
}

Result<UniqueFd> make_lru_hash(const char* name, std::uint32_t key_size, std::uint32_t value_size,
                               std::uint32_t entries) {
  const int fd =
      bpf_map_create(BPF_MAP_TYPE_LRU_HASH, name, key_size, value_size, entries, nullptr);
  if (fd < 0) return detail::map_error(fd, "create", name);
  return UniqueFd(fd);
}

Result<UniqueFd> make_mapped_array(const char* name, std::uint32_t entries) {
  LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
  const int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, name, sizeof(std::uint32_t),
                                sizeof(std::uint64_t), entries, &options);
  if (fd < 0) return detail::map_error(fd, "create", name);
  return UniqueFd(fd);
}

}  // namespace ioc_exporter::kernel
