#include "records/probe/programs.h"

#include <array>
#include <cstddef>

namespace ioc_exporter::records {
namespace {

// In the order of RecordProgram.
constexpr std::array kPrograms = {
    RecordProgramNames{RecordProgram::process, "dbProcess", "record_entry_process",
                       "record_entry_all", "record_end", IOCX_ENDING_PROCESS},
    RecordProgramNames{RecordProgram::put, "dbPut", "put_process", "put_all"},
    RecordProgramNames{RecordProgram::put_link_field, "dbCanSetLink", "put_lfld_process",
                       "put_lfld_all"},
    RecordProgramNames{RecordProgram::put_field, "dbPutField", "put_field_process",
                       "put_field_all"},
    RecordProgramNames{RecordProgram::put_link, "dbPutLink", "put_link", "put_link"},
    RecordProgramNames{RecordProgram::notify, "dbProcessNotify", "put_notify", "put_notify"},
    RecordProgramNames{RecordProgram::shell, "dbpf", "put_shell", "put_shell", "put_shell_end",
                       IOCX_ENDING_SHELL},
    RecordProgramNames{RecordProgram::scan_list, "scanList", "scan_process", "scan_all", "scan_end",
                       IOCX_ENDING_SCAN},
    RecordProgramNames{RecordProgram::completion, "recGblFwdLink", "completion_process",
                       "completion_all"},
    RecordProgramNames{RecordProgram::link_put, "dbCaPutLinkCallback", "link_put_process",
                       "link_put_all"},
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

}  // namespace ioc_exporter::records
