// TimeWindow: weekdays and hours, as a clock on the wall shows them somewhere.
//
// Whether a moment is inside depends on nothing but the weekday and the time that the zone's clocks
// show then. So when clocks are put forward, the hour that they skip is in no window, and when they
// are put back, the hour that they show twice is in its window twice.
#pragma once

#include <cstdint>
#include <string>

#include <absl/time/time.h>

#include "base/result.h"

namespace ioc_exporter::policy {

// Bit 0: Monday ... bit 6: Sunday.
using Weekdays = std::uint8_t;
inline constexpr Weekdays kEveryDay = 0x7f;

// "mon-fri", "sat", "fri-mon", several with commas; English names, of which three letters are
// enough, in any case.
Result<Weekdays> parse_weekdays(const std::string& text);

// Minutes since midnight. `to` is not inside; 1440 is the end of the day. `to` <= `from`: over
// midnight.
struct Hours {
  int from = 0;
  int to = 24 * 60;
};
// "08:00-17:30", "22:00-06:00".
Result<Hours> parse_hours(const std::string& text);

class TimeWindow {
 public:
  // `zone`: "local" (this host's), "UTC", or a name such as "Europe/Berlin" of the tz database.
  static Result<TimeWindow> create(Weekdays days, Hours hours, const std::string& zone);

  // A window over midnight belongs to the day on which it begins. `when`: seconds since 1970.
  bool contains(std::int64_t when) const;

  // "mon-fri 08:00-17:00 Europe/Berlin".
  std::string text() const;
  // Time by the clocks of its zone: "Sat 10:00".
  std::string shown(std::int64_t when) const;

 private:
  Weekdays days_ = kEveryDay;
  Hours hours_;
  std::string zone_name_;
  absl::TimeZone zone_;
};

// Seconds since 1970 of "2026-11-23 08:00" (local time), with or without seconds, with 'T' for the
// space, and with 'Z' or an offset such as +01:00 at the end.
Result<std::int64_t> parse_moment(const std::string& text);

}  // namespace ioc_exporter::policy
