// Description: a function of IOCs that the site, or a file that ships, wants to be measured.
// docs/functions.md is the reference.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/pattern.h"
#include "base/result.h"
#include "functions/value.h"

namespace ioc_exporter {
class Reader;
}

namespace ioc_exporter::functions {

struct Symbol {
  enum class Kind : std::uint8_t {
    name,
    glob,     // * and ? stand for any characters, for one
    cxx,      // demangled, with its arguments or without
    offset,   // in the file that has this build id
    pointer,  // the address that a call of another described function has at a place
  };
  Kind kind = Kind::name;
  std::string text;            // as it was written, for messages
  std::uint64_t offset = 0;    // of offset
  std::string build_id;        // the same: lower-case hexadecimal digits
  std::optional<Value> place;  // of pointer
  std::string of;              // the same: name of that function
};

struct Range {
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  bool holds(std::int64_t value) const { return value >= least && value <= most; }
};

// "0", "0..", "..-1", "1..5".
std::optional<Range> range_of(std::string_view text);

bool is_label_name(std::string_view name);

struct DescribedLabel {
  std::string name;
  Value value;
};

// A family of a description's own, in the place of one of the epics_function_ families.
struct OwnFamily {
  std::string name, help;
};
struct OwnFamilies {
  // `results`: calls by result, successes included.
  std::optional<OwnFamily> calls, durations, failures, results;
};

struct Description {
  std::string source;  // all of it, as YAML
  std::string name;
  std::optional<Pattern> file;
  Symbol symbol;
  bool timed = false;
  std::vector<DescribedLabel> labels;
  std::optional<Value> result;
  std::vector<Range> success;
  std::optional<Value> key;
  std::string since;  // "" = none
  // Only values that a walk's label of that name has are shown, or names of records: by label, the
  // walk's name, or "records".
  std::map<std::string, std::string> among;
  std::map<std::string, std::string> only;  // by label: other calls are not shown
  std::optional<OwnFamilies> metrics;       // none: the epics_function_ families
  std::optional<Pattern> where;             // only in IOCs that map such a file

  bool operator==(const Description& other) const { return source == other.source; }
  bool succeeded(std::int64_t value) const;
  // Its time or result is known at the end of the call only.
  bool needs_end() const { return timed || (result && result->from_return()); }
};
using Descriptions = std::vector<Description>;

inline constexpr std::size_t kMostDescriptions = 256;

// Adds those of the key `functions` of a file, or of the site's. Problems go to the reader's; then
// the result must not be used. Families of their own begin with `prefix`.
inline constexpr const char* kSitePrefix = "epics_site_";
void read_functions(Reader& file, Descriptions& into, const std::string& prefix = kSitePrefix);
// Of a file that ships, with this key alone. The error holds all problems, a line each.
Result<Descriptions> parse_functions(const std::string& text, const std::string& name);

// A problem with an item of the list at a file's key, `functions` or `walks`.
struct ListProblem {
  const char* key;
  std::size_t index;
  std::string line;
};

// Shipped descriptions and the site's together: a problem for each that cannot be used, which is
// taken out. The first of two with one name stays.
std::vector<ListProblem> take_out_unusable(Descriptions& all);

}  // namespace ioc_exporter::functions
