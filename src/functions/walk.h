// Walk: things that an IOC's memory lists, and values of each, read without a probe.
// docs/functions.md is the reference.
//
// Nothing that is read is trusted: an item that does not fit is absent as a whole, and a walk whose
// list does not lead back, or that is too long, is absent. Of several walks of one name, for
// versions of a module, the one that finds most in the IOC is shown.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/pattern.h"
#include "base/result.h"
#include "functions/description.h"
#include "functions/value.h"
#include "iocs/memory/memory.h"

namespace ioc_exporter {
class Reader;
}

namespace ioc_exporter::functions {

struct WalkLoop {
  std::string item;
  std::optional<Value> first, next, back, count, at;
  std::uint32_t stride = 0;  // bytes, of an array
};

// Two values that must be the same.
struct WalkAnchor {
  std::string text;
  Value left;
  std::optional<Value> right;  // none: `number`
  std::int64_t number = 0;
};

struct WalkLabel {
  std::string name;
  std::optional<Value> value;  // none: `text`
  std::string text;
};

struct WalkMetric {
  std::string name, help;
  bool counter = false, epics_time = false;
  std::optional<Value> value;
  std::optional<Range> only;
  std::vector<WalkLabel> labels;
};

struct Walk {
  std::string name;
  std::optional<Pattern> file;
  std::vector<WalkLoop> loops;
  std::vector<WalkAnchor> anchors;
  std::vector<WalkLabel> labels;
  std::vector<WalkMetric> metrics;

  // Variables that its places begin with.
  std::vector<std::string> variables() const;
};

struct WalkSample {
  std::uint32_t metric = 0;  // index
  std::vector<std::pair<std::string, std::string>> labels;
  double value = 0;
};

struct Walked {
  std::vector<WalkSample> samples;
  std::set<std::pair<std::string, std::string>> names;  // the walk's labels, with their values
  std::uint32_t items = 0, unfit = 0;
  bool is_cut = false;  // by a bound of time or reads
  std::string problem;  // why the walk, or the first item that does not fit, is absent; "" = none
};

struct WalkBounds {
  std::uint32_t items = 1024;  // of each loop, over all
  std::uint64_t reads = 8192;  // of up to CachedMemory::kBlock bytes each
  std::chrono::milliseconds time{200};
};

// Adds those of the key `walks` of a file. Problems go to the reader's. Metrics begin with
// `prefix`.
void read_walks(Reader& file, std::vector<Walk>& into, const std::string& prefix = kSitePrefix);

// An error: memory could not be read for now (its readings pause, or it has ended).
Result<Walked> walk(const Walk& walk, const Roots& variables, iocs::Memory& memory,
                    const WalkBounds& bounds = {});

}  // namespace ioc_exporter::functions
