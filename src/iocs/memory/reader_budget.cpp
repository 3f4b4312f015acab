#include "iocs/memory/reader_budget.h"

#include <algorithm>

namespace ioc_exporter::iocs {
namespace {

// More than that are remembered for as long as they must be only.
constexpr std::size_t kMostRemembered = 4096;

}  // namespace

ReaderBudget::Account& ReaderBudget::account(uid_t user, Clock::time_point now) {
  const auto [found, is_new] = accounts_.try_emplace(user);
  Account& account = found->second;
  if (is_new) account.filled = now;
  const auto income = std::chrono::duration_cast<std::chrono::nanoseconds>(
      kIncome * std::chrono::duration<double>(now - account.filled));
  account.left = std::min<std::chrono::nanoseconds>(kAccount, account.left + income);
  account.filled = now;
  return account;
}

ReaderBudget::Verdict ReaderBudget::judge(pid_t pid, uid_t user, Clock::time_point now) {
  if (const auto rest = resting_.find(pid); rest != resting_.end() && now < rest->second.until)
    return Verdict::resting;
  const Account& own = account(user, now);
  if (own.stuck >= kMostStuckOfUser || (stuck_ >= kMostStuck && own.stuck > 0))
    return Verdict::stuck;
  return own.left > std::chrono::nanoseconds(0) ? Verdict::go : Verdict::overdrawn;
}

void ReaderBudget::charge(uid_t user, std::chrono::nanoseconds time, Clock::time_point now) {
  account(user, now).left -= time;
}

void ReaderBudget::note_hang(pid_t pid, uid_t user, bool stuck, Clock::time_point now) {
  if (resting_.size() >= kMostRemembered) forget(now);
  Rest& rest = resting_[pid];
  if (now - rest.until > std::max(kForgiven, rest.next)) rest.next = kFirstRest;
  rest.until = now + rest.next;
  rest.next = std::min<std::chrono::seconds>(kLongestRest, 2 * rest.next);
  if (stuck) ++account(user, now).stuck;
}

void ReaderBudget::note_stuck(unsigned count) {
  stuck_ = count;
  if (count == 0)
    for (auto& [user, account] : accounts_) account.stuck = 0;
}

void ReaderBudget::forget(Clock::time_point now) {
  std::erase_if(resting_, [now](const auto& rest) { return now >= rest.second.until; });
  std::erase_if(accounts_, [now](const auto& one) {
    return one.second.stuck == 0 && now - one.second.filled > kLongestRest;
  });
}

std::size_t ReaderBudget::left_alone(Clock::time_point now) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(resting_, [now](const auto& rest) { return now < rest.second.until; }));
}

}  // namespace ioc_exporter::iocs
