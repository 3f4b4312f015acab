#include "ca/put_ledger.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace ioc_exporter::ca {
namespace {

std::uint64_t sum(const CaPuts& puts) {
  return puts[0] + puts[1];
}

CaDisagreement::Who who_of(const CaPutLabels& labels) {
  return {labels.ioc, labels.client, labels.user, labels.host};
}

}  // namespace

std::uint64_t CaPutLedger::Entry::seen() const {
  return sum(tap) - std::min(refused, sum(tap));
}

void CaPutLedger::Entry::agree() {
  tap = server;
  refused = 0;
}

std::size_t CaPutPlaceHash::operator()(const CaPutPlace& place) const noexcept {
  const std::string_view address(reinterpret_cast<const char*>(place.address.data()),
                                 place.address.size());
  const std::uint64_t rest = std::uint64_t{place.ioc} << 32 ^ place.sid;
  return std::hash<std::string_view>()(address) ^
         std::hash<std::uint64_t>()(rest * 0x9E3779B97F4A7C15ULL + place.port);
}

void CaPutLedger::begin(std::uint32_t ioc, const std::vector<Before>& before,
                        const std::vector<CaPutPlace>& connections, Clock::time_point now) {
  Witnessed& witnessed = witnessed_[ioc];
  witnessed = {};
  witnessed.since = now;
  for (const CaPutPlace& one : connections) witnessed.old.insert({one.address, one.port});
  for (const Before& one : before) {
    Entry& entry = entries_[one.place];
    entry = {};
    entry.settling = entry.is_old = true;
    entry.changed = one.last;
  }
  look(now);  // what was quiet for long enough is the server's at once
}

void CaPutLedger::set_port(std::uint32_t ioc, std::uint16_t port) {
  if (const auto found = witnessed_.find(ioc); found != witnessed_.end()) found->second.port = port;
}

bool CaPutLedger::is_witnessed(std::uint32_t ioc, std::uint16_t port) const {
  const auto found = witnessed_.find(ioc);
  if (found == witnessed_.end()) return false;
  return found->second.port == 0 || found->second.port == port;
}

std::vector<CaPutLedger::Owed> CaPutLedger::end(std::uint32_t ioc) {
  std::vector<Owed> owed;
  std::erase_if(entries_, [&](const auto& item) {
    const auto& [place, entry] = item;
    if (place.ioc != ioc) return false;
    if (entry.settling) return true;
    CaPuts more{};
    for (std::size_t op = 0; op < more.size(); ++op)
      if (entry.tap[op] > entry.server[op]) more[op] = entry.tap[op] - entry.server[op];
    for (std::uint64_t refused = entry.refused; std::uint64_t & one : more) {
      const std::uint64_t none = std::min(one, refused);
      one -= none;
      refused -= none;
    }
    if (more != CaPuts{}) owed.push_back({place, more, entry.who});
    return true;
  });
  witnessed_.erase(ioc);
  return owed;
}

CaPutLedger::Entry* CaPutLedger::find_or_add(const CaPutPlace& place) {
  const auto found = entries_.find(place);
  if (found != entries_.end()) return &found->second;
  if (entries_.size() >= kMostPlaces) return nullptr;
  Entry& entry = entries_[place];
  entry.is_old = witnessed_.at(place.ioc).old.contains({place.address, place.port});
  return &entry;
}

void CaPutLedger::tap_saw(const CaPutPlace& place, const CaPuts& growth, const CaPutLabels* labels,
                          bool held, Clock::time_point now) {
  if ((growth == CaPuts{} && !held) || !is_witnessed(place.ioc)) return;
  Entry* const entry = find_or_add(place);
  if (entry == nullptr) return;
  add_to(entry->tap, growth);
  entry->changed = now;
  if (labels != nullptr && entry->who.client.empty()) entry->who = who_of(*labels);
}

bool CaPutLedger::server_saw(const CaPutPlace& place, const CaPuts& growth,
                             const CaPutLabels& labels, Clock::time_point now) {
  if (!is_witnessed(place.ioc)) return false;
  if (growth == CaPuts{}) return true;
  Entry* const entry = find_or_add(place);
  if (entry == nullptr) return true;
  add_to(entry->server, growth);
  entry->changed = now;
  entry->who = who_of(labels);
  return !entry->settling;
}

void CaPutLedger::server_refused(const CaPutPlace& place, std::uint64_t growth,
                                 Clock::time_point now) {
  if (growth == 0 || !is_witnessed(place.ioc)) return;
  Entry* const entry = find_or_add(place);
  if (entry == nullptr) return;
  entry->refused += growth;
  entry->changed = now;
}

bool CaPutLedger::tap_counts(const CaPutPlace& place) const {
  if (!is_witnessed(place.ioc)) return true;
  const auto found = entries_.find(place);
  return found != entries_.end() && found->second.settling;
}

void CaPutLedger::look(Clock::time_point now) {
  for (auto item = entries_.begin(); item != entries_.end();)
    item = is_done(item->first, item->second, now) ? entries_.erase(item) : std::next(item);
}

// Compares it; whether nothing has to be remembered of it.
bool CaPutLedger::is_done(const CaPutPlace& place, Entry& entry, Clock::time_point now) {
  const bool is_quiet = now - entry.changed >= kQuiet;
  if (entry.settling) {
    if (is_quiet) return true;
    if (now - witnessed_.at(place.ioc).since < kLongestSettling) return false;
    const std::uint64_t tap = entry.seen(), server = sum(entry.server);
    unsettled_ += tap > server ? tap - server : server - tap;
    return true;
  }
  if (is_quiet) compare(place, entry, now);
  const auto keep = entry.declared > 0 ? 40 * kPatience : kPatience;
  return entry.seen() == sum(entry.server) && now - entry.changed >= keep;
}

void CaPutLedger::compare(const CaPutPlace& place, Entry& entry, Clock::time_point now) {
  const std::uint64_t tap = entry.seen(), server = sum(entry.server);
  const bool forgiven = entry.is_old && now - witnessed_.at(place.ioc).since < kFindingMessages;
  if (tap == server) return;
  // It may have refused what has not all come yet.
  const bool waits = tap > server || server <= sum(entry.tap);
  if (waits && now - entry.changed < kPatience) return;
  if (!forgiven && tap > server) {
    disagree(entry.who, 0, tap - server);
    entry.declared += tap - server;
  }
  if (!forgiven && server > tap) {
    const std::uint64_t late = std::min(entry.declared, server - tap);
    entry.declared -= late;
    disagree(entry.who, server - tap - late, 0);
  }
  entry.agree();
}

void CaPutLedger::disagree(const CaDisagreement::Who& who, std::uint64_t unseen,
                           std::uint64_t invented) {
  if (unseen == 0 && invented == 0) return;
  auto found = disagreements_.find(who);
  if (found == disagreements_.end()) {
    CaDisagreement::Who key = who;
    if (disagreements_.size() >= kMostDisagreements) key.client = key.user = key.host = "(other)";
    found = disagreements_.try_emplace(key, CaDisagreement{key, 0, 0}).first;
  }
  found->second.unseen += unseen;
  found->second.invented += invented;
}

void CaPutLedger::pass_over(std::uint32_t ioc) {
  for (auto& [place, entry] : entries_)
    if (place.ioc == ioc && !entry.settling) entry.agree();
}

std::vector<CaDisagreement> CaPutLedger::disagreements() const {
  std::vector<CaDisagreement> all;
  for (const auto& [who, one] : disagreements_) all.push_back(one);
  return all;
}

void CaPutLedger::forget(std::uint32_t ioc) {
  std::erase_if(disagreements_, [ioc](const auto& item) { return item.first.ioc == ioc; });
}

}  // namespace ioc_exporter::ca
