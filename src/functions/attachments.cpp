#include "functions/attachments.h"

#include <algorithm>
#include <iterator>
#include <vector>

namespace ioc_exporter::functions {

namespace {

bool is_wanted(const Attachments::Wanted& wanted, const Place& place, const iocs::IocId& process) {
  const auto found = wanted.find(place);
  return found != wanted.end() && found->second.processes.contains(process);
}

}  // namespace

bool Attachments::stays(const Wanted& wanted, const Key& key) const {
  const auto attached = attached_.find(key);
  return attached != attached_.end() && is_wanted(wanted, key.first, key.second) &&
         wanted.at(key.first).ending.get() == attached->second.ending;
}

bool Attachments::stays(const Wanted& wanted, const Place& place,
                        const iocs::IocId& process) const {
  return stays(wanted, {place, process}) || stays(wanted, {place, kAll});
}

void Attachments::keep(const Wanted& wanted) {
  std::vector<elf::FunctionProbe> off;
  for (auto one = attached_.begin(); one != attached_.end();) {
    const bool is_kept = stays(wanted, one->first);
    if (!is_kept) off.push_back(std::move(one->second.probe));
    one = is_kept ? std::next(one) : attached_.erase(one);
  }
  kernel::take_off_together(std::move(off));
  std::erase_if(failed_, [&](const auto& one) {
    return !is_wanted(wanted, one.first.first, one.first.second);
  });
}

bool Attachments::attach(const Wanted& wanted, Clock::time_point now) {
  const auto deadline = Clock::now() + kPatience;
  for (const auto& [place, one] : wanted)
    for (const iocs::IocId& process : one.processes) {
      const Key key{place, process};
      const auto failed = failed_.find(key);
      if (attached_.contains(key) || (failed != failed_.end() && !failed->second.first.is_due(now)))
        continue;
      const auto begin = Clock::now();
      if (begin >= deadline) return false;
      elf::ProbePlace where{one.file->code, one.file->path, place.offset, process.pid, one.ending};
      where.function = one.name;
      const auto program = one.with_result ? FunctionsObject::kWithResult : FunctionsObject::kPlain;
      auto probe = object_.attacher().attach(program, where);
      const bool is_slow = Clock::now() - begin > kSlow;
      if (probe) {
        attached_.emplace(key, Attached{std::move(*probe), one.ending.get()});
        failed_.erase(key);
        if (!is_slow) continue;
        put_off(wanted, place.file, now);
        return false;
      }
      auto& [retry, problem] = failed_[key];
      problem = probe.error().message();
      if (retry.failed(now, problem)) lines_.warn(problem);
      if (is_slow) {
        put_off(wanted, place.file, now);
        return false;
      }
    }
  return true;
}

void Attachments::put_off(const Wanted& wanted, const elf::FileId& file, Clock::time_point now) {
  for (const auto& [place, one] : wanted) {
    if (place.file != file) continue;
    for (const iocs::IocId& process : one.processes) {
      const Key key{place, process};
      if (attached_.contains(key)) continue;
      auto& [retry, problem] = failed_[key];
      problem = one.file->path + ": attaching takes too long";
      retry.failed(now, problem);
    }
  }
}

std::string Attachments::problem(const Place& place, const iocs::IocId& process) const {
  for (const iocs::IocId& of : {process, kAll})
    if (const auto failed = failed_.find({place, of}); failed != failed_.end())
      return failed->second.second;
  return "";
}

bool Attachments::is_due(Clock::time_point now) const {
  return std::ranges::any_of(failed_,
                             [now](const auto& one) { return one.second.first.is_due(now); });
}

std::uint64_t Attachments::count() const {
  std::uint64_t count = 0;
  for (const auto& [key, one] : attached_) count += 1 + one.probe.at_ends.size();
  return count;
}

}  // namespace ioc_exporter::functions
