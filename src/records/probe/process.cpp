// The part of RecordProcess that begins and ends with IOCs; attach.cpp has the other.
#include "records/probe/process.h"

#include <set>

#include "base/log.h"
#include "base/same_inode.h"

namespace ioc_exporter::records {

std::uint8_t attach_bit(Attachment mode) {
  return mode == Attachment::all_processes ? IOCX_ATTACH_ALL : IOCX_ATTACH_PROCESS;
}

Result<RecordProcess> RecordProcess::start(const RecordProcessOptions& options) {
  auto object = RecordProcessObject::load(options);
  if (!object) return std::move(object).error();
  // The maps that give ioc_records and ioc_completions their shape stand in slot 0, where no IOC
  // may find it.
  if (auto cleared = object->clear_records_map(0); !cleared) return cleared.error();
  if (auto cleared = object->clear_completions_map(0); !cleared) return cleared.error();
  if (auto added = add_usual_scan_names(object->maps().scan_names); !added) return added.error();
  return RecordProcess(std::move(*object), options);
}

// Two containers of one image show two devices for what the kernel has one inode of: it would hit
// the probes of both for each of their calls.
LibraryKey RecordProcess::library_of(const std::shared_ptr<const elf::CodeFile>& code,
                                     std::uint64_t offset) {
  LibraryKey key{code->id().device, code->id().inode, offset};
  if (libraries_.contains(key)) return key;
  std::vector<LibraryKey> alike;
  std::vector<int> files;
  for (const auto& [known, library] : libraries_) {
    if (known.offset != offset || !library.code->resembles(*code)) continue;
    alike.push_back(known);
    files.push_back(library.code->fd());
  }
  if (!files.empty()) {
    auto same = find_same_inode(code->fd(), files, offset);
    if (!same) log::warn("compare two library files: {}", same.error().message());
    if (same && *same) return alike[**same];
  }
  libraries_[key].code = code;
  return key;
}

Result<void> RecordProcess::prepare(const std::vector<Coming>& coming) {
  for (auto& [file, library] : libraries_) library.coming = 0;
  if (auto ok = prepare_maps(coming); !ok || coming.size() < 2) return ok;
  for (const Coming& target : coming) ++libraries_[library_of(target.code, target.offset)].coming;
  for (auto& [file, library] : libraries_)
    if (library.slots.empty())
      library.mode = choose_attachment(Attachment::per_process, library.coming);
  return {};
}

Result<std::uint32_t> RecordProcess::watch(const RecordTarget& target) {
  auto slot = slot_for(target.records);
  if (!slot) return std::move(slot).error();
  const LibraryKey key = library_of(target.code, target.offset);
  Library& library = libraries_[key];
  library.slots.push_back(*slot);
  if (library.coming > 0) --library.coming;
  WatchedIoc& watched = watched_[*slot];
  watched.target = target;
  watched.library = key;
  watched.generation = next_generation_++;
  watched.holder = iocx_holder_of(watched.generation);
  auto done = enter(*slot, attach_bit(library.mode));
  if (done) done = attach_ioc(*slot, library);
  if (!done) {
    unwatch({*slot});
    return done.error();
  }
  // The IOC is counted already: that the cheaper way of attaching failed is no reason to give it
  // up.
  auto balanced = rebalance(library);
  if (!balanced && balanced.error().code != std::errc::no_such_process)
    log::warn("{}", balanced.error().message());
  return *slot;
}

void RecordProcess::unwatch(const std::vector<std::uint32_t>& slots) {
  std::vector<std::uint32_t> known;
  std::set<LibraryKey> libraries;
  for (const std::uint32_t slot : slots) {
    const auto found = watched_.find(slot);
    if (found == watched_.end()) continue;
    known.push_back(slot);
    libraries.insert(found->second.library);
  }
  take_off_of(known);
  leave(known);
  for (const LibraryKey& key : libraries)
    if (const auto library = libraries_.find(key); library != libraries_.end())
      if (auto balanced = rebalance(library->second); !balanced)
        log::warn("{}", balanced.error().message());
}

Result<void> RecordProcess::update(std::uint32_t slot, const RecordTarget& target) {
  WatchedIoc& watched = watched_.at(slot);
  if (auto ok = ensure_capacity(slot, target.records); !ok) return ok;
  if (target.sdis == watched.target.sdis) return {};
  watched.target.sdis = target.sdis;
  return write_config(slot, watched.paused ? 0 : attach_bit(library_of(slot).mode));
}

Result<RecordProcessUse> RecordProcess::use() const {
  RecordProcessUse use;
  use.threads = object_.maps().caps.held(IOCX_HELD_THREADS) +
                object_.maps().caps.held(IOCX_HELD_OVERFLOW_THREADS);
  use.threads_capacity =
      object_.maps().thread_owners.capacity() + object_.maps().overflow_threads.capacity();
  for (const auto& [file, library] : libraries_) {
    use.attachments += library.for_all.size();
    for (const auto& [slot, attached] : library.by_slot) use.attachments += attached.size();
  }
  for (const auto& [slot, watched] : watched_) use.records_capacity += watched.capacity;
  use.memory = memory_.use(object_.maps().rooms);
  return use;
}

}  // namespace ioc_exporter::records
