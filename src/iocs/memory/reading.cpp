#include "iocs/memory/reading.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "iocs/find/process_stat.h"

namespace ioc_exporter::iocs {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr milliseconds kCheckInterval{20};
// A reader that sleeps now may have run since the last check: at most this counts as sleep.
constexpr milliseconds kMostSlept{100};
// More than any answer has. A reader that was taken over by what it read cannot go on for ever.
constexpr unsigned kMostPieces = 4096;

nanoseconds time_of(std::uint64_t ticks) {
  static const long per_second = ::sysconf(_SC_CLK_TCK);
  return nanoseconds(ticks * 1'000'000'000 / static_cast<std::uint64_t>(per_second));
}

}  // namespace

bool Reading::wait(const RootedFs& fs, const std::function<bool()>& enough) {
  const auto began = Clock::now();
  while (!is_over()) {
    const bool is_enough = enough();
    pollfd answer{reader_.socket.get(), POLLIN, 0};
    if (::poll(&answer, 1, is_enough ? 0 : static_cast<int>(kCheckInterval.count())) > 0) {
      receive_piece();
      continue;
    }
    check_reader(fs);
    if (is_over() || !is_enough) continue;
    if (!ticks_when_left_) ticks_when_left_ = ticks_;
    break;
  }
  times_.waited += Clock::now() - began;
  if (answer_ && ticks_when_left_ && reader_.socket) check_reader(fs);
  return is_over();
}

// A reader that runs, or waits for a CPU, does not hang.
void Reading::check_reader(const RootedFs& fs) {
  const auto now = Clock::now();
  const auto stat = read_process_stat(fs, reader_.pid);
  if (stat) ticks_ = std::max(ticks_, stat->cpu_ticks);
  if (!stat || stat->state != 'R')
    times_.slept += std::min<nanoseconds>(now - last_check_, kMostSlept);
  last_check_ = now;
  is_late_ = !answer_ && (times_.slept >= limits_.asleep || now - began_ >= limits_.longest);
}

void Reading::receive_piece() {
  std::string message;
  if (!receive_message(reader_.socket.get(), message, pieces_.fd)) {
    reader_.socket.reset();
    return fail(error_from_errno(EAGAIN, what_ + ": the reader has ended"));
  }
  Unpacker unpacker(message);
  const auto head = unpacker.take<ReaderAnswer>();
  if (!head || ++received_ > kMostPieces) {
    reader_.socket.reset();  // its next message would be taken for another answer
    return fail(error_in_words(what_ + ": the reader gave no answer"));
  }
  if (head->ok == 0) {
    std::string context(unpacker.rest());
    return fail(head->error == 0 ? error_in_words(std::move(context))
                                 : error_from_errno(static_cast<int>(head->error), context));
  }
  pieces_.bytes.append(unpacker.rest());
  last_check_ = Clock::now();
  if (head->more == 0) answer_ = Result<Answer>(std::move(pieces_));
}

nanoseconds Reading::cost() const {
  return times_.waited + (ticks_when_left_ ? time_of(ticks_ - *ticks_when_left_) : nanoseconds(0));
}

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
