#include "functions/finder.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>
#include <string_view>

#include <re2/re2.h>

#include "base/ascii.h"
#include "base/process_stats.h"
#include "base/same_inode.h"

namespace ioc_exporter::functions {
namespace {

using Wish = elf::FunctionWish;

constexpr std::size_t kMostMaps = 16u << 20;
constexpr std::size_t kMostMappings = 64;  // of a file: a linker makes one or two
constexpr std::pair<std::uint32_t, std::uint64_t> kNoPointer{~0u, 0};

Wish wish_of(const Symbol& symbol) {
  switch (symbol.kind) {
    case Symbol::Kind::glob:
      return {Wish::Kind::glob, symbol.text, 0};
    case Symbol::Kind::cxx:
      return {Wish::Kind::cxx, symbol.text, 0};
    case Symbol::Kind::offset:
      return {Wish::Kind::offset, symbol.build_id, symbol.offset};
    default:
      return {Wish::Kind::name, symbol.text, 0};
  }
}

struct Mappings {
  std::vector<elf::Mapping> code;
  // How often each file is mapped, for whatever.
  std::map<std::pair<std::string, std::uint64_t>, std::size_t> times;  // by device and inode
};

Mappings read_mappings(std::string_view maps) {
  Mappings all;
  while (!maps.empty()) {
    auto mapping = elf::parse_mapping(take_line(maps));
    if (!mapping || mapping->inode == 0) continue;
    ++all.times[{mapping->device, mapping->inode}];
    if (mapping->executable && mapping->path.starts_with('/'))
      all.code.push_back(std::move(*mapping));
  }
  return all;
}

MappedFile mapped_file(const elf::Mapping& mapping) {
  return {mapping.path, mapping.device, mapping.inode, mapping.start};
}

FileInIoc in_ioc(std::shared_ptr<const DescribedFile> file, const elf::Mapping& mapping,
                 const std::vector<elf::Mapping>& mappings) {
  FileInIoc found{std::move(file), mapped_file(mapping), {}};
  for (const elf::Mapping& one : mappings)
    if (one.inode == mapping.inode && one.device == mapping.device &&
        found.code.size() < kMostMappings)
      found.code.push_back({one.start, one.end, one.offset});
  return found;
}

}  // namespace

Result<ReadMaps> read_maps(iocs::ProcessReader& reader, pid_t pid) {
  const auto read = [&](pid_t thread) {
    return reader.text(pid, folder_of_thread(pid, thread) + "/maps", kMostMaps);
  };
  pid_t thread = pid;
  auto text = read(pid);
  // The main thread has ended.
  if (text && text->empty()) {
    thread = find_live_thread(RootedFs(), pid).value_or(pid);
    text = read(thread);
  }
  if (!text) return std::move(text).error();
  if (text->empty()) return error_in_words("read /proc/" + std::to_string(pid) + "/maps: empty");
  return ReadMaps{thread, std::move(*text)};
}

std::string map_files_path(pid_t thread, const elf::Mapping& mapping) {
  return "/proc/" + std::to_string(thread) + "/map_files/" + elf::map_files_name(mapping);
}

bool is_common_library(const std::string& path) {
  static const re2::RE2 form(
      R"(.*/(ld-linux|libc|libm|libpthread|libdl|librt|libgcc_s|libstdc\+\+|libCom|libca|libdbCore)[-.][^/]*)");
  return re2::RE2::FullMatch(path, form);
}

Result<FunctionsFound> FunctionFinder::find(const iocs::IocId& id,
                                            const std::vector<PointerSeen>& pointers) {
  const auto maps = read_maps(*reader_, id.pid);
  if (!maps) return maps.error();
  if (files_.size() > kMostFiles / 2 || open_ > most_open_ / 2) forget_unused();
  const Mappings all = read_mappings(maps->text);
  const std::vector<elf::Mapping>& mappings = all.code;
  const Process process{id.pid, maps->thread, mappings};
  std::set<std::pair<std::string, std::uint64_t>> known;
  std::vector<const elf::Mapping*> files;
  for (const elf::Mapping& mapping : mappings)
    if (known.emplace(mapping.device, mapping.inode).second) files.push_back(&mapping);
  FunctionsFound found;
  // A preset's descriptions are for IOCs that map a certain file.
  std::vector<bool> wanted;
  for (const Description& one : *descriptions_)
    wanted.push_back(!one.where || std::ranges::any_of(files, [&](const auto* mapping) {
      return one.where->matches(mapping->path);
    }));
  std::size_t searched = 0, with_functions = 0;
  for (const elf::Mapping* const mapping : files) {
    std::vector<Wish> wishes;
    std::vector<std::uint32_t> described;
    for (std::uint32_t i = 0; i < descriptions_->size(); ++i) {
      const Description& one = (*descriptions_)[i];
      if (one.symbol.kind == Symbol::Kind::pointer || !wanted[i] ||
          !one.file->matches(mapping->path))
        continue;
      wishes.push_back(wish_of(one.symbol));
      described.push_back(i);
    }
    for (const Walk& walk : *walks_)
      if (walk.file->matches(mapping->path))
        for (const std::string& name : walk.variables())
          wishes.push_back({Wish::Kind::variable, name, 0});
    if (wishes.empty()) continue;
    if ((!described.empty() && with_functions >= kMostFilesOfIoc) || searched >= kMostSearched) {
      ++found.files_over;
      continue;
    }
    ++searched;
    std::string names;
    for (const std::uint32_t i : described)
      names += (names.empty() ? "" : ", ") + (*descriptions_)[i].name;
    // A probe is put into each mapping, one after the other, also into those that hold no code.
    if (all.times.at({mapping->device, mapping->inode}) > kMostMappings) {
      found.unread.push_back(
          {mapped_file(*mapping), "mapped more than 64 times", std::move(names)});
      continue;
    }
    auto file = file_of(process, *mapping, wishes, described, kNoPointer);
    if (!file) {
      found.again |= file.error().code == std::errc::resource_unavailable_try_again;
      found.files_over += file.error().code == std::errc::too_many_files_open;
      found.unread.push_back({mapped_file(*mapping), file.error().message(), std::move(names)});
      continue;
    }
    if (!(*file)->functions.empty()) ++with_functions;
    found.files.push_back(in_ioc(std::move(*file), *mapping, mappings));
    add_walks(found.files.back(), found.walks);
  }
  for (const PointerSeen& pointer : pointers) add_pointer(process, pointer, found);
  return found;
}

void FunctionFinder::add_pointer(const Process& process, const PointerSeen& pointer,
                                 FunctionsFound& found) {
  const std::vector<elf::Mapping>& mappings = process.mappings;
  const Description& one = (*descriptions_)[pointer.description];
  const auto complain = [&](const std::string& what) {
    found.problems.push_back(one.name + ": " + iocs::hex_address(pointer.address) + what);
  };
  const auto mapping = std::ranges::find_if(mappings, [&](const elf::Mapping& file_mapping) {
    return pointer.address >= file_mapping.start && pointer.address < file_mapping.end;
  });
  if (mapping == mappings.end() || !one.file->matches(mapping->path))
    return complain(" is no code of a file that is asked for");
  if (is_common_library(mapping->path))
    return complain(" is in " + mapping->path + ", which other programs use, too");
  const std::uint64_t offset = pointer.address - mapping->start + mapping->offset;
  const std::vector<Wish> wish{{Wish::Kind::place, "", offset}};
  auto file =
      file_of(process, *mapping, wish, {pointer.description}, {pointer.description, offset});
  if (!file) {
    found.files_over += file.error().code == std::errc::too_many_files_open;
    found.unread.push_back({mapped_file(*mapping), file.error().message(), one.name});
    return;
  }
  for (const auto& [description, problem] : (*file)->problems)
    complain(" in " + (*file)->path + ": " + problem);
  found.files.push_back(in_ioc(std::move(*file), *mapping, mappings));
}

void FunctionFinder::add_walks(const FileInIoc& file,
                               std::map<std::uint32_t, WalkPlaces>& walks) const {
  for (std::uint32_t i = 0; i < walks_->size(); ++i) {
    if (!(*walks_)[i].file->matches(file.mapped.path) || walks.contains(i)) continue;
    WalkPlaces& places = walks[i];
    places.file = file.mapped.path;
    for (const std::string& name : (*walks_)[i].variables()) {
      const auto variable = file.file->variables.find(name);
      if (variable == file.file->variables.end()) continue;
      if (variable->second)
        places.variables[name] = file.code[0].start - file.code[0].offset + *variable->second;
      else
        places.problem = variable->second.error().message();
    }
  }
}

Result<FunctionFinder::FilePtr> FunctionFinder::file_of(
    const Process& process, const elf::Mapping& mapping, const std::vector<Wish>& wishes,
    const std::vector<std::uint32_t>& described, std::pair<std::uint32_t, std::uint64_t> pointer) {
  const std::string path = map_files_path(process.thread, mapping);
  const auto status = reader_->status(process.pid, path);
  if (!status) return status.error();
  std::vector<std::string> variables;
  for (const Wish& wish : wishes)
    if (wish.kind == Wish::Kind::variable) variables.push_back(wish.text);
  const FileKey key{elf::file_id(*status), pointer, described, std::move(variables)};
  if (const auto known = files_.find(key); known != files_.end()) return known->second.file;
  if (files_.size() >= kMostFiles || (!described.empty() && open_ >= most_open_))
    return error_from_errno(EMFILE, "search " + mapping.path + ": there are too many files");
  auto fd = reader_->open(process.pid, path);
  if (!fd) return fd.error();
  auto file = read(process.pid, mapping, std::move(*fd), wishes, described);
  if (!file) return file.error();
  const auto same = pointer == kNoPointer ? same_file(**file, key) : nullptr;
  const Known known{same ? same : *file, !same && (*file)->code};
  if (known.is_open) ++open_;
  return files_.emplace(key, known).first->second.file;
}

// Those that no IOC uses any more: they are read again when they come back.
void FunctionFinder::forget_unused() {
  std::map<const DescribedFile*, long> here;
  for (const auto& [key, known] : files_) ++here[known.file.get()];
  std::erase_if(files_, [&](const auto& one) {
    const Known& known = one.second;
    if (known.file.use_count() > here.at(known.file.get())) return false;
    if (known.is_open) --open_;
    return true;
  });
}

// Two mounts of one file have one probe in the kernel (base/same_inode.h): it must not be two here.
FunctionFinder::FilePtr FunctionFinder::same_file(const DescribedFile& file,
                                                  const FileKey& key) const {
  if (!file.code || file.functions.empty()) return nullptr;
  for (const auto& [other_key, known] : files_) {
    const auto& code = known.file->code;
    if (std::get<1>(other_key) != kNoPointer || std::get<2>(other_key) != std::get<2>(key) ||
        std::get<3>(other_key) != std::get<3>(key) || !code || !code->resembles(*file.code))
      continue;
    const int other[] = {code->fd()};
    const auto same = find_same_inode(file.code->fd(), other, file.functions[0].code.file_offset);
    if (same && *same) return known.file;
  }
  return nullptr;
}

Result<FunctionFinder::FilePtr> FunctionFinder::read(
    pid_t pid, const elf::Mapping& mapping, UniqueFd fd, const std::vector<Wish>& wishes,
    const std::vector<std::uint32_t>& described) const {
  auto file = std::make_shared<DescribedFile>();
  file->path = mapping.path;
  const auto found = reader_->functions(pid, fd.get(), mapping.path, wishes);
  if (!found && iocs::is_for_now(found.error())) return found.error();
  for (std::size_t i = 0; i < described.size(); ++i) {
    const std::string problem = !found                       ? found.error().message()
                                : i < found->problems.size() ? found->problems[i]
                                                             : "";
    // A preset's functions may be in any file of the IOC.
    const Description& one = (*descriptions_)[described[i]];
    const bool is_elsewhere =
        one.where && one.symbol.kind == Symbol::Kind::glob && problem == elf::kNoSuchFunction;
    if (!problem.empty() && !is_elsewhere) file->problems.emplace_back(described[i], problem);
  }
  for (std::size_t i = described.size(); i < wishes.size(); ++i)
    if (wishes[i].kind == Wish::Kind::variable)
      file->variables.emplace(wishes[i].text,
                              !found ? found.error() : error_in_words(found->problems.at(i)));
  if (!found) return FilePtr(std::move(file));
  std::vector<elf::CodeRange> ranges;
  for (const elf::FoundFunction& one : found->found)
    if (one.wish < described.size())
      ranges.push_back(one.code);
    else
      file->variables.insert_or_assign(wishes.at(one.wish).text, one.code.file_offset);
  if (ranges.empty()) return FilePtr(std::move(file));
  auto code = elf::CodeFile::open(std::move(fd), mapping.path, ranges);
  if (!code) return code.error();
  file->code = std::move(*code);
  for (const elf::FoundFunction& one : found->found) {
    if (one.wish >= described.size()) continue;
    const std::uint32_t index = described[one.wish];
    const Description& description = (*descriptions_)[index];
    file->functions.push_back({index, one.name, one.code, nullptr});
    DescribedFunction& function = file->functions.back();
    if (!description.needs_end()) continue;
    std::vector<elf::CodeRange> parts{one.code};
    if (one.cold.size > 0) parts.push_back(one.cold);
    const bool result = description.result && description.result->from_return();
    auto ending = elf::EndingFunction::find(file->code->fd(), parts, elf::Work::nothing,
                                            result ? elf::Places::with_result : elf::Places::any);
    if (ending)
      function.ending = std::move(*ending);
    else
      file->problems.emplace_back(
          index, (result ? "its result is not read: " : "it is counted, and not timed: ") +
                     ending.error().message());
  }
  return FilePtr(std::move(file));
}

}  // namespace ioc_exporter::functions
