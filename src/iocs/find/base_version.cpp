#include "iocs/find/base_version.h"

#include <re2/re2.h>

#include <algorithm>

namespace ioc_exporter::iocs {
namespace {

constexpr std::string_view kMark = "EPICS ";
constexpr std::size_t kLongestVersion = 64;  // of the string, mark included
constexpr std::size_t kChunk = 1u << 20;
constexpr std::uint64_t kBudget = 256u << 20;

struct Candidate {
  std::string version;
  bool whole = false;  // a string of its own
};

Candidate find_version(std::string_view bytes) {
  static const RE2 kPattern(R"(EPICS R?(\d+\.\d+(?:\.\d+)*[-\w]*))", RE2::Latin1);
  Candidate best;
  for (std::size_t at = 0; (at = bytes.find(kMark, at)) != std::string_view::npos; ++at) {
    const std::string_view text = bytes.substr(at, kLongestVersion);
    re2::StringPiece text_left(text.data(), text.size());
    std::string version;
    if (!RE2::Consume(&text_left, kPattern, &version)) continue;
    const bool whole =
        at > 0 && bytes[at - 1] == '\0' && !text_left.empty() && text_left[0] == '\0';
    if (whole) return {version, true};
    if (best.version.empty()) best.version = version;
  }
  return best;
}

}  // namespace

std::string base_version_in(std::string_view bytes) {
  return find_version(bytes).version;
}

std::string base_version_of_file(int fd, std::span<const elf::LoadSegment> segments) {
  std::string best;
  std::string buffer;
  std::uint64_t budget = kBudget;
  // Old linkers put the read-only data into the executable segment: that one is searched last.
  std::vector<elf::LoadSegment> order(segments.begin(), segments.end());
  std::ranges::stable_sort(order, {}, &elf::LoadSegment::executable);
  for (const elf::LoadSegment& segment : order) {
    buffer.clear();
    for (std::uint64_t at = 0; at < segment.file_size && budget > 0;) {
      const std::size_t kept = buffer.size();
      const std::size_t want = std::min<std::uint64_t>({kChunk, segment.file_size - at, budget});
      buffer.resize(kept + want);
      const ssize_t got =
          ::pread(fd, buffer.data() + kept, want, static_cast<off_t>(segment.offset + at));
      if (got <= 0) break;
      buffer.resize(kept + static_cast<std::size_t>(got));
      at += static_cast<std::uint64_t>(got);
      budget -= static_cast<std::uint64_t>(got);
      const Candidate found = find_version(buffer);
      if (found.whole) return found.version;
      if (best.empty()) best = found.version;
      // A text that was cut at the end of this chunk is whole in the next one.
      if (buffer.size() > kLongestVersion) buffer.erase(0, buffer.size() - kLongestVersion);
    }
  }
  return best;
}

std::string base_version_from_name(std::string_view path) {
  static const RE2 kPattern(R"(.*\.so\.((\d+)\.(\d+)(?:\.\d+)*))");
  std::string number;
  int major = 0;
  int minor = 0;
  const auto slash = path.rfind('/');
  const std::string_view base = slash == std::string_view::npos ? path : path.substr(slash + 1);
  if (!RE2::FullMatch(re2::StringPiece(base.data(), base.size()), kPattern, &number, &major,
                      &minor))
    return "";
  if (major < 3) return "";
  if (major == 3) return minor <= 16 ? number : "database " + number;
  const auto wheel = number.find(".99");
  return wheel == std::string::npos ? number : number.substr(0, wheel);
}

}  // namespace ioc_exporter::iocs
