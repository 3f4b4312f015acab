// The page at /flame: where the time of records goes, as boxes in boxes. No script.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ioc_exporter::web {

// A box, as wide as its part of the one that it stands below.
struct FlameFrame {
  std::string name, title;  // the title where the mouse rests on it
  std::string link;         // "" = none
  double part = 0;          // in any unit, one for all
  std::vector<FlameFrame> below;
};

struct FlamePage {
  std::string record, ioc;   // as asked for; in the form
  std::string problem;       // with what was asked
  std::uint64_t traces = 0;  // of which it is
  FlameFrame all;
};

// All texts are escaped.
std::string render_flame_page(const FlamePage& page);

}  // namespace ioc_exporter::web
