#include "functions/listing.h"

#include <sys/stat.h>

#include <re2/re2.h>

#include <algorithm>
#include <map>
#include <utility>

#include "functions/finder.h"
#include "iocs/elf/function_ends.h"
#include "iocs/elf/maps.h"

namespace ioc_exporter::functions {
namespace {

using ListedPlace = std::pair<iocs::FileId, std::uint64_t>;  // of a function, in its file
using Names = std::map<ListedPlace, std::vector<std::string>>;

bool is_cxx(const std::string& symbol) {
  return symbol.find("::") != std::string::npos || symbol.ends_with(')');
}

// Where descriptions are found. Where the IOC's files cannot be opened as the exporter does it,
// nowhere.
Names names_by_place(const std::shared_ptr<iocs::ProcessReader>& reader, const iocs::IocId& id,
                     const std::shared_ptr<const Descriptions>& known) {
  Names names;
  const auto found = FunctionFinder(reader, known).look(id, 0, {});
  if (!found) return names;
  for (const FileInIoc& file : found->files)
    for (const DescribedFunction& one : file.file->functions)
      names[{file.file->code->id(), one.code.file_offset}].push_back(
          (*known)[one.description].name);
  return names;
}

// The file of a mapping, as Inspector opens it: without the right to use map_files the path is
// taken, if it still leads to the same inode.
Result<UniqueFd> open_mapped(iocs::ProcessReader& reader, pid_t pid, pid_t thread,
                             const iocs::Mapping& mapping) {
  auto fd = reader.open(pid, map_files_path(thread, mapping));
  if (fd) return fd;
  const std::string path = "/proc/" + std::to_string(thread) + "/root" + mapping.path;
  const auto status = reader.status(pid, path);
  if (!status || status->st_ino != mapping.inode) return fd;
  return reader.open(pid, path);
}

std::string why_untimed(int fd, const iocs::FoundFunction& function) {
  std::vector<iocs::CodeRange> parts{function.code};
  if (function.cold.size > 0) parts.push_back(function.cold);
  const auto ending = iocs::EndingFunction::find(fd, parts, iocs::Work::nothing, iocs::Places::any);
  return ending ? "" : ending.error().message();
}

ListedFile list_file(iocs::ProcessReader& reader, pid_t pid, pid_t thread,
                     const iocs::Mapping& mapping, const std::string& glob, const Names& names) {
  ListedFile listed{mapping.path, "", {}};
  const auto fd = open_mapped(reader, pid, thread, mapping);
  const iocs::FunctionWish wish{iocs::FunctionWish::Kind::listed, glob.empty() ? "*" : glob, 0};
  const auto found = fd ? reader.functions(pid, fd->get(), mapping.path, {&wish, 1})
                        : Result<iocs::FoundFunctions>(fd.error());
  if (!found) {
    listed.problem = found.error().message();
    return listed;
  }
  listed.problem = found->problems.empty() ? "" : found->problems[0];
  struct stat status {};
  const bool has_id = ::fstat(fd->get(), &status) == 0;
  for (const iocs::FoundFunction& one : found->found) {
    ListedFunction& function = listed.functions.emplace_back();
    function.size = one.code.size + one.cold.size;
    if (glob.empty()) continue;
    function.symbol = one.name;
    function.untimed = why_untimed(fd->get(), one);
    function.unwinding = one.unwinding;
    if (const auto known = names.find({iocs::file_id(status), one.code.file_offset});
        has_id && known != names.end())
      function.described = known->second;
  }
  std::ranges::sort(listed.functions, {}, &ListedFunction::symbol);
  return listed;
}

}  // namespace

Result<std::vector<ListedFile>> list_functions(const std::shared_ptr<iocs::ProcessReader>& reader,
                                               const iocs::IocId& id, const std::string& glob,
                                               const std::shared_ptr<const Descriptions>& known) {
  const auto maps = read_maps(*reader, id.pid);
  if (!maps) return maps.error();
  const Names names = glob.empty() ? Names() : names_by_place(reader, id, known);
  std::vector<ListedFile> all;
  for (const iocs::Mapping& mapping : iocs::executable_modules(maps->text))
    if (mapping.path.starts_with('/'))
      all.push_back(list_file(*reader, id.pid, maps->thread, mapping, glob, names));
  return all;
}

std::string name_of(const ListedFile& file, const ListedFunction& function) {
  return file.path + " " + function.symbol;
}

Result<Description> description_of(const ListedFile& file, const ListedFunction& function) {
  Description description;
  auto path = Pattern::compile(re2::RE2::QuoteMeta(file.path));
  if (!path) return path.error();
  description.file = std::move(*path);
  description.name = description.source = name_of(file, function);
  description.symbol.kind = is_cxx(function.symbol) ? Symbol::Kind::cxx : Symbol::Kind::name;
  description.symbol.text = function.symbol;
  return description;
}

}  // namespace ioc_exporter::functions
