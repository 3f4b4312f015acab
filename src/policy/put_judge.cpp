#include "policy/put_judge.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

namespace ioc_exporter::policy {
namespace {

// Seconds after the last put: a Prometheus that was away for less still sees it.
constexpr double kKeepGone = 7 * 86400;
constexpr std::size_t kMaxGone = 5000;  // some leave before
constexpr double kDropPause = 60;

// How many each of these may have, so that all together have `room`.
std::size_t equal_part(std::vector<std::size_t> held, std::size_t room) {
  std::ranges::sort(held);
  for (std::size_t i = 0; i < held.size(); ++i) {
    const std::size_t part = room / (held.size() - i);
    if (held[i] > part) return part;
    room -= held[i];
  }
  return std::numeric_limits<std::size_t>::max();
}

}  // namespace

PutJudge::KeyView PutJudge::view(const Key& key) {
  return {key.server, key.pv, key.client, key.user, key.host, key.op, key.inside, key.protocol};
}

PutJudge::KeyView PutJudge::view(const PutTotal& total) {
  const Put& put = total.put;
  return {total.server, put.pv, put.client, put.user, put.host, put.op, put.inside, total.protocol};
}

// A put by PV Access is a write, whatever the operation.
std::uint32_t PutJudge::verdict(const KeyView& key) const {
  const auto& [server, pv, client, user, host, op, inside, protocol] = key;
  return policy_->decide(
      {pv, user, host, client, protocol == puts::Protocol::pva ? PutOp::write : op, inside});
}

void PutJudge::set_policy(std::shared_ptr<const Policy> policy) {
  policy_ = std::move(policy);
  in_force_.clear();
  any_gone_ = true;
  if (!policy_) {
    series_.clear();
    rules_.clear();
    return;
  }
  for (const std::uint32_t rule : verdicts()) {
    const RuleName name(policy_->name(rule), policy_->action(rule));
    if (rule == Policy::kNoRule || (rule & Policy::kPerhaps) == 0) rules_.try_emplace(name);
    in_force_.insert(name);
  }
  std::erase_if(rules_, [this](const auto& rule) { return !in_force_.contains(rule.first); });
  for (auto& [key, state] : states_) state.verdict = verdict(view(key));
}

// The totals come in the order of their keys, so that most are where the one before was.
PutJudge::State& PutJudge::state_of(const PutTotal& total, States::iterator& at) {
  if (at != states_.end()) ++at;
  if (at == states_.end() || view(at->first) != view(total)) at = states_.find(total);
  if (at != states_.end()) return at->second;
  const Put& put = total.put;
  const Key key{total.server,
                std::string(put.pv),
                std::string(put.client),
                std::string(put.user),
                std::string(put.host),
                put.op,
                put.inside,
                total.protocol};
  at = states_.emplace(key, State{}).first;
  if (policy_) at->second.verdict = verdict(view(total));
  return at->second;
}

double PutJudge::time_of(const PutTotal& total, double now) const {
  return total.last_time > last_look_ ? std::min(total.last_time, now) : now;
}

void PutJudge::count(const PutTotal& total, std::uint32_t rule, std::uint64_t puts, double when,
                     double now) {
  if (rule == Policy::kInside) return;
  const Action action = policy_->action(rule);
  RuleName name(policy_->name(rule), action);
  rules_[name] += puts;
  if (!is_bad(action)) return;
  const Put& put = total.put;
  const auto [entry, is_new] = series_.try_emplace(
      {total.protocol, std::string(total.ioc), std::string(put.pv), std::string(put.client),
       std::string(put.user), std::string(put.host), name.first, action});
  Count& count = entry->second;
  if (is_new) count.created = last_look_;
  count.total += puts;
  // A time that lies ahead is from before the clock was put back: the next put must not hide behind
  // it.
  count.last_time = count.last_time > now ? when : std::max(count.last_time, when);
}

void PutJudge::look(std::span<const PutTotal> totals, double now) {
  ++number_;
  servers_.clear();
  auto at = states_.end();
  std::string_view last_ioc;
  for (const PutTotal& total : totals) {
    State& state = state_of(total, at);
    state.seen = number_;
    if (total.ioc != last_ioc || servers_.empty()) servers_[std::string(total.ioc)] = total.server;
    last_ioc = total.ioc;
    if (std::exchange(state.serial, total.serial) != total.serial) state.growth = {};
    const std::uint64_t puts = state.growth.advance({total.count})[0];
    if (puts == 0 || !policy_) continue;
    const double when = time_of(total, now);
    count(total, state.verdict, puts, when, now);
  }
  last_look_ = now;
  const auto is_over = [this](const auto& entry) { return entry.second.seen != number_; };
  if (std::erase_if(states_, is_over) > 0) any_gone_ = true;
  drop_gone();
}

void PutJudge::drop_gone() {
  if (!std::exchange(any_gone_, false) && last_look_ < next_drop_) return;
  std::vector<std::map<Series, Count>::iterator> gone, over;
  for (auto it = series_.begin(); it != series_.end(); ++it)
    if (is_gone(it->first)) gone.push_back(it);
  std::ranges::sort(gone, std::greater(), [](const auto& it) { return it->second.last_time; });
  std::map<std::string_view, std::size_t> by_client, kept;
  for (const auto& it : gone) ++by_client[it->first.client];
  std::vector<std::size_t> held;
  for (const auto& [client, series] : by_client) held.push_back(series);
  // At least one, as far as that goes: the clients may be more than there is room for.
  const std::size_t part = std::max<std::size_t>(1, equal_part(std::move(held), kMaxGone));
  std::size_t stay = 0;
  std::erase_if(gone, [&](const auto& it) {
    const bool leaves = ++kept[it->first.client] > part || stay >= kMaxGone ||
                        last_look_ - it->second.last_time > kKeepGone;
    if (leaves)
      over.push_back(it);
    else
      ++stay;
    return leaves;
  });
  for (const auto& it : over) series_.erase(it);
  next_drop_ = gone.empty() ? std::numeric_limits<double>::infinity() : last_look_ + kDropPause;
}

bool PutJudge::is_gone(const Series& series) const {
  if (!in_force_.contains({series.rule, series.action})) return true;
  const auto server = servers_.find(series.ioc);
  if (server == servers_.end()) return true;
  const auto has = [&](PutOp op, bool inside) {
    return states_.contains(KeyView{server->second, series.pv, series.client, series.user,
                                    series.host, op, inside, series.protocol});
  };
  return !has(PutOp::write, false) && !has(PutOp::write_notify, false) &&
         !has(PutOp::write, true) && !has(PutOp::write_notify, true);
}

std::vector<UnexpectedPutSample> PutJudge::unexpected() const {
  std::vector<UnexpectedPutSample> samples;
  samples.reserve(series_.size());
  for (const auto& [series, count] : series_)
    samples.push_back({series.ioc, series.pv, series.client, series.user, series.host, series.rule,
                       std::string(verdict_of(series.action)), count.total, count.last_time,
                       count.created, series.protocol == puts::Protocol::pva});
  return samples;
}

std::vector<PolicyRuleSample> PutJudge::rules() const {
  std::vector<PolicyRuleSample> samples;
  if (!policy_) return samples;
  for (const std::uint32_t rule : verdicts()) {
    const RuleName name(policy_->name(rule), policy_->action(rule));
    if (const auto puts = rules_.find(name); puts != rules_.end())
      samples.push_back({name.first, std::string(verdict_of(name.second)), puts->second});
  }
  return samples;
}

std::vector<std::uint32_t> PutJudge::verdicts() const {
  std::vector<std::uint32_t> all;
  for (std::uint32_t rule = 0; rule < policy_->text().rules.size(); ++rule) {
    all.push_back(rule);
    if (policy_->action(rule) == Action::forbid) all.push_back(rule | Policy::kPerhaps);
  }
  all.push_back(Policy::kNoRule);
  all.push_back(Policy::kUnjudged);
  return all;
}

}  // namespace ioc_exporter::policy
