#include "records/habits_file.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "base/utf8.h"
#include "records/habits.h"

namespace ioc_exporter::records {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kTitle = "ioc_exporter: habits of records, format 1\n";
constexpr std::size_t kLongestName = 4096;
constexpr std::size_t kHabitBytes =
    sizeof(std::uint64_t) + 3 * sizeof(std::uint32_t) + sizeof(float);
constexpr double kLongestObserved = 4e9;  // 126 years, within 32 bits

template <class Number>
void put(std::string& into, Number number) {
  static_assert(std::is_arithmetic_v<Number>);
  char bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  into.append(bytes, sizeof number);
}

// False: there is no more. What was read before that stays.
template <class Number>
bool take(std::string_view& from, Number& into) {
  if (from.size() < sizeof into) return false;
  std::memcpy(&into, from.data(), sizeof into);
  from.remove_prefix(sizeof into);
  return true;
}

bool is_plausible(const KeptIoc& ioc) {
  return ioc.observed >= 0 && ioc.observed < kLongestObserved && ioc.next_day >= ioc.observed &&
         ioc.next_day <= ioc.observed + RecordHabits::kDay;
}

bool is_plausible(const KeptHabit& habit, const KeptIoc& ioc) {
  return habit.since <= habit.active && habit.active <= ioc.observed &&
         habit.silence <= ioc.observed && std::isfinite(habit.rate) && habit.rate >= 0;
}

bool take_habit(std::string_view& from, KeptHabit& habit) {
  return take(from, habit.name) && take(from, habit.since) && take(from, habit.active) &&
         take(from, habit.silence) && take(from, habit.rate);
}

void put_text(std::string& into, std::string_view text) {
  put(into, static_cast<std::uint32_t>(text.size()));
  into += text;
}

// As a label has it.
bool take_text(std::string_view& from, std::string& into) {
  std::uint32_t length = 0;
  if (!take(from, length) || length > kLongestName || from.size() < length) return false;
  into = from.substr(0, length);
  from.remove_prefix(length);
  return printable_utf8(into, kLongestName) == into;
}

// "" = an IOC was read.
const char* take_ioc(std::string_view& from, KeptHabits& into, std::size_t& habits) {
  std::uint32_t count = 0;
  std::string name;
  KeptIoc ioc;
  if (!take_text(from, name) || name.empty()) return "an IOC's name is missing";
  if (!take_text(from, ioc.user)) return "an IOC's user is missing";
  if (!take(from, ioc.observed) || !take(from, ioc.next_day) || !is_plausible(ioc))
    return "an IOC's times cannot be";
  // Before anything is allocated for them.
  if (!take(from, count) || count > from.size() / kHabitBytes || count > kMostKeptHabits - habits)
    return "there are fewer records than it says, or too many";
  habits += count;
  ioc.habits.resize(count);
  for (KeptHabit& habit : ioc.habits)
    if (!take_habit(from, habit) || !is_plausible(habit, ioc)) return "a record's habit cannot be";
  return into.emplace(name, std::move(ioc)).second ? "" : "an IOC is in it twice";
}

}  // namespace

std::string to_bytes(std::uint64_t generation, const KeptHabits& habits) {
  std::string bytes(kTitle);
  put(bytes, generation);
  put(bytes, static_cast<std::uint32_t>(habits.size()));
  for (const auto& [name, ioc] : habits) {
    put_text(bytes, name);
    put_text(bytes, ioc.user);
    put(bytes, ioc.observed);
    put(bytes, ioc.next_day);
    put(bytes, static_cast<std::uint32_t>(ioc.habits.size()));
    for (const KeptHabit& habit : ioc.habits) {
      put(bytes, habit.name);
      put(bytes, habit.since);
      put(bytes, habit.active);
      put(bytes, habit.silence);
      put(bytes, habit.rate);
    }
  }
  put(bytes, fnv1a(bytes));
  return bytes;
}

Result<ReadHabits> habits_from_bytes(std::string_view bytes) {
  if (!bytes.starts_with(kTitle)) return error_in_words("it is not of format 1");
  std::uint64_t sum = 0;
  std::string_view rest = bytes.substr(kTitle.size());
  if (rest.size() < sizeof sum) return error_in_words("it ends too early");
  std::string_view end = rest.substr(rest.size() - sizeof sum);
  (void)take(end, sum);
  rest.remove_suffix(sizeof sum);
  if (fnv1a(bytes.substr(0, bytes.size() - sizeof sum)) != sum)
    return error_in_words("the sum is another one");
  ReadHabits read;
  std::uint32_t count = 0;
  if (!take(rest, read.generation) || !take(rest, count) || count > kMostKeptIocs)
    return error_in_words("there are too many IOCs");
  std::size_t habits = 0;
  for (; count > 0; --count)
    if (const std::string_view wrong = take_ioc(rest, read.iocs, habits); !wrong.empty())
      return error_in_words(std::string(wrong));
  if (!rest.empty()) return error_in_words("there is more than it says");
  return read;
}

}  // namespace ioc_exporter::records
