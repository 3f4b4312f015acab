// The part of Daemon that judges puts by the site's policy.
#include <utility>

#include "app/daemon.h"

namespace ioc_exporter::app {
namespace {

// Longer than the pause between two ticks.
constexpr std::chrono::milliseconds kBeforeChange{3000};

}  // namespace

Result<ca::CaTapReading> Daemon::read_puts(bool judges) {
  auto reading = tap_->collect();
  report("read the counts of puts", reading ? Result<void>() : reading.error());
  if (!reading) return reading;
  wall_clock_.update(WallClock::read());
  if (judges) put_policy_.look(iocs_->names(), reading->puts, wall_clock_, Clock::now());
  return reading;
}

// Puts are judged by when they came: so they are read just before a time window opens or closes,
// and just after.
void Daemon::judge_at_windows() {
  if (!tap_ || !put_policy_.changes_within(kBeforeChange)) return;
  static_cast<void>(read_puts(true));  // a failure was reported
}

void Daemon::set_policy(std::shared_ptr<const policy::Policy> policy) {
  const std::scoped_lock lock(mutex_);
  if (tap_) static_cast<void>(read_puts(true));  // a failure was reported
  put_policy_.set(std::move(policy));
}

void Daemon::served(const web::Request& request, std::uint64_t look) {
  put_policy_.served(request, look, Clock::now());
}

}  // namespace ioc_exporter::app
