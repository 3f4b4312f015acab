#include "records/probe/programs.h"

namespace ioc_exporter::records {

std::vector<iocs::FunctionPrograms> record_programs() {
  std::vector<iocs::FunctionPrograms> all{
      {{"dbProcess"}, "record_entry_process", "record_entry_all", "record_end"},
      {{"dbPut"}, "put_process", "put_all"},
      {{"dbCanSetLink"}, "put_lfld_process", "put_lfld_all"},
      {{"dbPutField"}, "put_field_process", "put_field_all"},
      {{"dbPutLink"}, "put_link"},
      {{"dbProcessNotify", "dbPutNotify"}, "put_notify"},
      {{"dbpf"}, "put_shell", nullptr, "put_shell_end"},
      {{"scanList"}, "scan_process", "scan_all", "scan_end"},
      {{"recGblFwdLink"}, "completion_process", "completion_all"},
      {{"dbCaPutLinkCallback"}, "link_put_process", "link_put_all"},
  };
  for (iocs::FunctionPrograms& programs : all) {
    programs.cookie = IOCX_ATTACH_PROCESS;
    programs.cookie_all = IOCX_ATTACH_ALL;
  }
  return all;
}

std::optional<iocx_ending_function> ending_of(RecordProgram program) {
  switch (program) {
    case RecordProgram::process:
      return IOCX_ENDING_PROCESS;
    case RecordProgram::scan_list:
      return IOCX_ENDING_SCAN;
    case RecordProgram::shell:
      return IOCX_ENDING_SHELL;
    default:
      return std::nullopt;
  }
}

}  // namespace ioc_exporter::records
