#include "iocs/seen_file.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "base/utf8.h"

namespace ioc_exporter::iocs {
namespace {

constexpr std::string_view kTitle = "ioc_exporter: IOCs that were seen, format 1";
constexpr std::size_t kLargest = 1u << 20, kLongestName = 4096;

std::string_view take(std::string_view& text, char end) {
  const auto at = std::min(text.find(end), text.size());
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return part;
}

template <class Number>
bool read_number(std::string_view text, Number& into) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), into);
  return problem == std::errc() && end == text.data() + text.size();
}

bool read_exit(const std::vector<std::string_view>& fields, std::optional<IocExit>& exit) {
  const std::string_view reason = fields[5], detail = fields[6];
  if (reason == "-" && detail == "-") return true;
  const auto text = printable_utf8(detail, 32);
  if (reason == "exit")
    exit = IocExit{"exit", text, ""};
  else if (reason == "signal" || reason == "core_dump")
    exit = IocExit{std::string(reason), "", text};
  return exit && text == detail;
}

bool read_line(std::string_view line, SeenByName& into) {
  std::vector<std::string_view> fields;
  while (!line.empty()) fields.push_back(take(line, '\t'));
  if (fields.size() != 7) return false;
  const std::string name = printable_utf8(fields[0], kLongestName);
  SeenIoc ioc;
  const bool valid = !name.empty() && name == fields[0] && read_number(fields[1], ioc.user) &&
                     read_number(fields[2], ioc.longest_run) && read_number(fields[3], ioc.gone) &&
                     ioc.gone >= 0 && read_number(fields[4], ioc.last_seen) &&
                     read_exit(fields, ioc.exit);
  return valid && into.emplace(name, std::move(ioc)).second;
}

std::string end_of(std::string_view text) {
  char sum[17];
  const auto [end, problem] = std::to_chars(sum, sum + sizeof sum, fnv1a(text), 16);
  return "end " + std::string(sum, end) + "\n";
}

}  // namespace

std::string to_text(const SeenText& seen) {
  std::string text(kTitle);
  text.append("\ngeneration ").append(std::to_string(seen.generation)) += '\n';
  for (const auto& [name, ioc] : seen.iocs) {
    const std::string detail = !ioc.exit ? "-" : ioc.exit->status + ioc.exit->signal;
    text += name + '\t' + std::to_string(ioc.user) + '\t' + std::to_string(ioc.longest_run) + '\t' +
            std::to_string(static_cast<std::uint64_t>(std::ceil(ioc.gone))) + '\t' +
            std::to_string(ioc.last_seen) + '\t' + (ioc.exit ? ioc.exit->reason : "-") + '\t' +
            detail + '\n';
  }
  return text + end_of(text);
}

Result<SeenText> seen_from_text(std::string_view text) {
  std::string_view rest = text;
  if (take(rest, '\n') != kTitle)
    return error_in_words("line 1: not \"" + std::string(kTitle) + "\"");
  SeenText seen;
  std::string_view line = take(rest, '\n');
  if (!line.starts_with("generation ") || !read_number(line.substr(11), seen.generation))
    return error_in_words("line 2: no generation");
  for (std::size_t number = 3; !rest.empty(); ++number) {
    const std::string_view before = text.substr(0, text.size() - rest.size());
    line = take(rest, '\n');
    if (line.starts_with("end ")) {
      if (std::string(line) + "\n" != end_of(before))
        return error_in_words("line " + std::to_string(number) + ": the sum is another one");
      return seen;
    }
    if (!read_line(line, seen.iocs))
      return error_in_words("line " + std::to_string(number) + ": no seen IOC");
  }
  return error_in_words("it ends too early");
}

SeenText read_seen(const std::string& folder, std::string& problem) {
  return StateFiles::read_latest<SeenText>(folder, kSeenFiles, kLargest, seen_from_text, problem);
}

}  // namespace ioc_exporter::iocs
