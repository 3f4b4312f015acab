#include "bpf/record_programs.h"

#include <array>
#include <cstddef>

namespace ioc_exporter::bpf {
namespace {

// In the order of RecordProgram.
constexpr std::array kPrograms = {
    RecordProgramNames{RecordProgram::process, "dbProcess", "record_entry_process",
                       "record_entry_all", "record_return", "session_process", "session_all"},
};

constexpr bool is_in_order() {
  for (std::size_t i = 0; i < kPrograms.size(); ++i)
    if (static_cast<std::size_t>(kPrograms[i].program) != i) return false;
  return true;
}
static_assert(is_in_order());

}  // namespace

const RecordProgramNames& names_of(RecordProgram program) {
  return kPrograms.at(static_cast<std::size_t>(program));
}

}  // namespace ioc_exporter::bpf
