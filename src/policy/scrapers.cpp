#include "policy/scrapers.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace ioc_exporter::policy {
namespace {

using Seconds = std::chrono::duration<double>;
constexpr Seconds kJitter{0.1};        // of Prometheus' own clockwork, on a host that is busy
constexpr double kJitterShare = 0.03;  // of the interval

}  // namespace

void Scrapers::served(const std::string& who, bool surely, std::uint64_t look,
                      Clock::time_point now) {
  if (who.empty()) return;
  const auto [entry, is_new] = scrapers_.try_emplace(who);
  if (is_new && scrapers_.size() > kMost) {
    const auto oldest = std::ranges::min_element(scrapers_, {}, [now](const auto& known) {
      return known.second.answers.empty() ? now : known.second.answers.back().when;
    });
    scrapers_.erase(oldest == entry ? std::next(entry) : oldest);
  }
  Scraper& scraper = entry->second;
  scraper.surely = surely;
  // Of concurrent answers the later one may carry the earlier look.
  const std::uint64_t last = scraper.answers.empty() ? 0 : scraper.answers.back().look;
  scraper.answers.push_back({now, std::max(look, last)});
  if (scraper.answers.size() > kKept) scraper.answers.pop_front();
}

// Do these answers go to one server, and not to several that look alike? One comes in even steps,
// of which some may be missing. (Two that look alike and come in turns, in even steps, are taken
// for one.)
bool Scrapers::is_one(const std::deque<Answer>& answers) {
  if (answers.size() < 3) return true;
  std::vector<double> gaps;
  for (std::size_t i = 1; i < answers.size(); ++i)
    gaps.push_back(Seconds(answers[i].when - answers[i - 1].when).count());
  std::vector<double> sorted = gaps;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::ranges::nth_element(sorted, middle);
  const double step = *middle;
  const double jitter = std::max(kJitter.count(), kJitterShare * step);
  if (step <= jitter) return false;
  return std::ranges::all_of(gaps, [step, jitter](double gap) {
    const double steps = std::max(1.0, std::round(gap / step));
    return std::abs(gap - steps * step) <= jitter;
  });
}

std::uint64_t Scrapers::all_saw(std::chrono::milliseconds longest_interval, Clock::time_point now) {
  const auto margin = longest_interval + longest_interval / 10;
  std::erase_if(scrapers_, [&](const auto& known) {
    return now - known.second.answers.back().when > 2 * margin;
  });
  if (scrapers_.empty() || now - since_ < margin) return 0;
  const bool any_surely =
      std::ranges::any_of(scrapers_, [](const auto& known) { return known.second.surely; });
  std::uint64_t all = UINT64_MAX;
  for (auto& [who, scraper] : scrapers_) {
    if (any_surely && !scraper.surely) continue;
    auto& answers = scraper.answers;
    while (answers.size() > 1 && now - answers.front().when > 2 * margin) answers.pop_front();
    std::uint64_t saw = answers.back().look;
    if (!is_one(answers)) {  // each of them came within the longest interval, after that answer
      saw = 0;
      for (const Answer& answer : answers)
        if (now - answer.when >= margin) saw = answer.look;
    }
    all = std::min(all, saw);
  }
  return all;
}

}  // namespace ioc_exporter::policy
