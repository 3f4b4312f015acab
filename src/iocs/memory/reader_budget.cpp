#include "iocs/memory/reader_budget.h"

#include <algorithm>

namespace ioc_exporter::iocs {
namespace {

// Above it, those whose rest is over are forgotten.
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

bool ReaderBudget::is_resting(pid_t pid, Clock::time_point now) const {
  const auto rest = resting_.find(pid);
  return rest != resting_.end() && now < rest->second.until;
}

bool ReaderBudget::is_overdrawn(uid_t user, Clock::time_point now) {
  return account(user, now).left <= std::chrono::nanoseconds(0);
}

void ReaderBudget::charge(uid_t user, std::chrono::nanoseconds time, Clock::time_point now) {
  account(user, now).left -= time;
}

void ReaderBudget::note_hang(pid_t pid, Clock::time_point now) {
  if (resting_.size() >= kMostRemembered) forget(now);
  Rest& rest = resting_[pid];
  if (now - rest.until > std::max(kForgiven, rest.next)) rest.next = kFirstRest;
  rest.until = now + rest.next;
  rest.next = std::min<std::chrono::seconds>(kLongestRest, 2 * rest.next);
}

void ReaderBudget::forget(Clock::time_point now) {
  std::erase_if(resting_, [now](const auto& rest) { return now >= rest.second.until; });
  std::erase_if(accounts_,
                [now](const auto& one) { return now - one.second.filled > kLongestRest; });
}

std::size_t ReaderBudget::resting(Clock::time_point now) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(resting_, [now](const auto& rest) { return now < rest.second.until; }));
}

}  // namespace ioc_exporter::iocs
