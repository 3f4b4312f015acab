#include "records/puts.h"

#include "records/thread_clients.h"

namespace ioc_exporter::records {
namespace {

// Threads that the process has now; the set is empty when it is gone.
std::set<std::uint32_t> threads_of(const RootedFs& fs, pid_t pid) {
  std::set<std::uint32_t> threads;
  auto names = fs.list("/proc/" + std::to_string(pid) + "/task");
  if (!names) return threads;
  for (const std::string& name : *names)
    threads.insert(static_cast<std::uint32_t>(std::strtoul(name.c_str(), nullptr, 10)));
  return threads;
}

Result<void> erase(const RecordMaps& maps, const iocx_put_client_key& key) {
  auto erased = maps.puts.clients.erase(key);
  if (!erased) return std::move(erased).error();
  if (*erased) maps.shares.give(IOCX_SHARE_PUT_CLIENTS, key.holder);
  return {};
}

}  // namespace

Result<void> RecordPuts::follow(const RecordMaps& maps, const std::map<std::uint32_t, pid_t>& pids,
                                bool shown) {
  std::map<std::uint32_t, Counts> by_slot;
  auto read = maps.puts.clients.for_each([&](const iocx_put_client_key& key, std::uint64_t count) {
    by_slot[key.slot].emplace_back(key, count);
  });
  if (!read) return read;
  Result<void> problem;
  for (const auto& [slot, counts] : by_slot) {
    const auto pid = pids.find(slot);
    if (pid == pids.end()) continue;
    auto done = follow_ioc(maps, slot, pid->second, counts, shown);
    if (!done && problem) problem = done;
  }
  return problem;
}

Result<void> RecordPuts::follow_ioc(const RecordMaps& maps, std::uint32_t slot, pid_t pid,
                                    const Counts& counts, bool shown) {
  auto& known = clients_[slot];
  std::set<std::uint32_t> unknown;
  for (const auto& [key, count] : counts)
    if (!known.contains(key.tid)) unknown.insert(key.tid);
  Result<void> problem;
  if (!unknown.empty()) {
    auto found = clients_of_threads(fs_, pid, unknown);
    if (found)
      known.merge(*found);
    else
      problem = found.error();
  }
  const std::set<std::uint32_t> alive = threads_of(fs_, pid);
  for (const auto& [key, count] : counts) {
    const auto client = known.find(key.tid);
    const std::string name = client != known.end() ? client->second : "";
    if (alive.contains(key.tid)) {
      totals_.add(key, count, name, shown);
    } else if (auto ended = count_ended(maps, key, name); !ended && problem) {
      problem = ended;
    }
  }
  std::erase_if(known, [&](const auto& entry) { return !alive.contains(entry.first); });
  return problem;
}

// Its counts are final now; its id may come again, as another thread's.
Result<void> RecordPuts::count_ended(const RecordMaps& maps, const iocx_put_client_key& key,
                                     const std::string& client) {
  auto count = maps.puts.clients.lookup(key);
  if (!count) return std::move(count).error();
  if (*count) totals_.add(key, **count, client, true);
  totals_.forget(key);
  return erase(maps, key);
}

Result<void> RecordPuts::forget(const RecordMaps& maps, std::uint32_t slot) {
  totals_.forget_slot(slot);
  clients_.erase(slot);
  auto keys = maps.puts.clients.keys();
  if (!keys) return std::move(keys).error();
  for (const iocx_put_client_key& key : *keys) {
    if (key.slot != slot) continue;
    if (auto erased = erase(maps, key); !erased) return erased;
  }
  return {};
}

}  // namespace ioc_exporter::records
