#include "ca/candidates.h"

namespace ioc_exporter::ca {

void CaCandidates::begin_look() {
  for (auto& [circuit, joined] : joined_) joined.seen = false;
  waiting_.clear();
}

void CaCandidates::see(const iocx_ca_server& server, const iocx_ca_flow& flow, bool waits) {
  if (const auto speaks = judge(flow)) {
    if (*speaks && waits) {
      waiting_.insert(server);
      return;
    }
    const auto [verdict, is_new] = verdicts_.try_emplace(server, *speaks);
    if (!is_new) verdict->second = verdict->second || *speaks;
  }
}

void CaCandidates::end_look() {
  std::erase_if(joined_, [](const auto& entry) { return !entry.second.seen; });
  std::erase_if(verdicts_, [this](const auto& verdict) {
    return !verdict.second && waiting_.contains(verdict.first);
  });
}

std::vector<CaVerdict> CaCandidates::take() {
  std::vector<CaVerdict> all;
  for (const auto& [server, speaks] : verdicts_)
    all.push_back({ca_server_of(server, kCaCandidate), speaks});
  verdicts_.clear();
  return all;
}

std::optional<bool> CaCandidates::judge(const iocx_ca_flow& flow) {
  if (flow.not_ca) return false;
  if (flow.joined) return judge_joined(flow);
  if (flow.directions[IOCX_CA_TO_SERVER].stream.begins_ca &&
      flow.directions[IOCX_CA_TO_CLIENT].stream.begins_ca)
    return true;
  return std::nullopt;
}

std::optional<bool> CaCandidates::judge_joined(const iocx_ca_flow& flow) {
  Joined& joined = joined_[flow.circuit];
  joined.seen = true;
  bool all_found = true, lost_data = false;
  for (std::size_t i = 0; i < 2; ++i) {
    const iocx_ca_direction& direction = flow.directions[i];
    const bool found = direction.stream.sync >= IOCX_CA_REGAINED;
    all_found = all_found && found;
    if (!found && direction.next_known && direction.next != joined.next[i]) lost_data = true;
    joined.next[i] = direction.next;
  }
  if (all_found) return true;
  if (lost_data) ++joined.looks;
  return joined.looks > kLooks ? std::optional(false) : std::nullopt;
}

}  // namespace ioc_exporter::ca
