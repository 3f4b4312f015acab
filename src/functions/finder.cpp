#include "functions/finder.h"

#include <sys/stat.h>

#include <algorithm>
#include <string_view>

#include <re2/re2.h>

#include "base/same_inode.h"

namespace ioc_exporter::functions {
namespace {

using Wish = iocs::FunctionWish;

constexpr std::size_t kMostMaps = 16u << 20;
constexpr std::size_t kMostFiles = 4096;
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

std::vector<iocs::Mapping> code_mappings(std::string_view maps) {
  std::vector<iocs::Mapping> all;
  while (!maps.empty()) {
    const auto end = std::min(maps.find('\n'), maps.size());
    auto mapping = iocs::parse_mapping(maps.substr(0, end));
    maps.remove_prefix(std::min(end + 1, maps.size()));
    if (mapping && mapping->executable && mapping->inode != 0 && mapping->path.starts_with('/'))
      all.push_back(std::move(*mapping));
  }
  return all;
}

// Libraries that programs share which are no IOCs: an address in an IOC's memory does not choose
// that these are probed.
bool is_common_library(const std::string& path) {
  static const re2::RE2 form(
      R"(.*/(ld-linux|libc|libm|libpthread|libdl|librt|libgcc_s|libstdc\+\+|libCom|libca|libdbCore)[-.][^/]*)");
  return re2::RE2::FullMatch(path, form);
}

bool is_same_file(const iocs::Mapping& a, const iocs::Mapping& b) {
  return a.inode == b.inode && a.device == b.device;
}

}  // namespace

Result<LookedAt> FunctionFinder::look(const iocs::IocId& id,
                                      const std::vector<PointerSeen>& pointers) {
  const pid_t pid = id.pid;
  const auto text = reader_->text(pid, "/proc/" + std::to_string(pid) + "/maps", kMostMaps);
  if (!text) return text.error();
  const auto mappings = code_mappings(*text);
  LookedAt found;
  const auto add = [&](FilePtr file, const iocs::Mapping& mapping) {
    found.files.push_back({std::move(file), {}});
    FileInIoc& in_ioc = found.files.back();
    for (const iocs::Mapping& one : mappings)
      if (is_same_file(one, mapping)) in_ioc.code.push_back({one.start, one.end, one.offset});
  };
  // A preset's descriptions are for IOCs that map a certain file.
  std::vector<bool> wanted;
  for (const Description& one : *descriptions_)
    wanted.push_back(!one.where || std::ranges::any_of(mappings, [&](const auto& mapping) {
      return one.where->matches(mapping.path);
    }));
  for (auto mapping = mappings.begin(); mapping != mappings.end(); ++mapping) {
    if (std::any_of(mappings.begin(), mapping,
                    [&](const auto& before) { return is_same_file(before, *mapping); }))
      continue;
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
    auto file = file_of(pid, *mapping, wishes, described, kNoPointer);
    if (!file) return file.error();
    if (!*file) continue;
    add(std::move(*file), *mapping);
    add_walks(found.files.back(), found.walks);
  }
  for (const PointerSeen& pointer : pointers) {
    const auto holds = [&](const iocs::Mapping& mapping) {
      return pointer.address >= mapping.start && pointer.address < mapping.end;
    };
    const auto mapping = std::ranges::find_if(mappings, holds);
    const Description& one = (*descriptions_)[pointer.description];
    if (mapping == mappings.end() || !one.file->matches(mapping->path)) {
      found.problems.push_back(one.name + ": " + iocs::hex_address(pointer.address) +
                               " is no code of a file that is asked for");
      continue;
    }
    if (one.where && is_common_library(mapping->path)) {
      found.problems.push_back(one.name + ": " + iocs::hex_address(pointer.address) + " is in " +
                               mapping->path + ", which other programs use, too");
      continue;
    }
    const std::uint64_t offset = pointer.address - mapping->start + mapping->offset;
    const std::vector<Wish> wish{{Wish::Kind::place, "", offset}};
    auto file = file_of(pid, *mapping, wish, {pointer.description}, {pointer.description, offset});
    if (!file) return file.error();
    for (const auto& [description, problem] : (*file)->problems)
      found.problems.push_back(one.name + ": " + iocs::hex_address(pointer.address) + " in " +
                               (*file)->path + ": " + problem);
    add(std::move(*file), *mapping);
  }
  return found;
}

void FunctionFinder::add_walks(const FileInIoc& file,
                               std::map<std::uint32_t, WalkPlaces>& walks) const {
  for (std::uint32_t i = 0; i < walks_->size(); ++i) {
    if (!(*walks_)[i].file->matches(file.file->path) || walks.contains(i)) continue;
    WalkPlaces& places = walks[i];
    places.file = file.file->path;
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
    pid_t pid, const iocs::Mapping& mapping, const std::vector<Wish>& wishes,
    const std::vector<std::uint32_t>& described, std::pair<std::uint32_t, std::uint64_t> pointer) {
  const std::string path =
      "/proc/" + std::to_string(pid) + "/map_files/" + iocs::map_files_name(mapping);
  const auto status = reader_->status(pid, path);
  if (!status) return status.error();
  const FileKey key{iocs::file_id(*status), pointer, described};
  if (const auto known = files_.find(key); known != files_.end()) return known->second;
  auto fd = reader_->open(pid, path);
  if (!fd) return fd.error();
  auto file = read(pid, mapping, std::move(*fd), wishes, described);
  if (!file) return file.error();
  if (auto same = pointer == kNoPointer ? same_file(**file, described) : nullptr)
    *file = std::move(same);
  // Those that nobody uses any more are read again when they come back.
  if (files_.size() >= kMostFiles)
    std::erase_if(files_, [](const auto& one) { return one.second.use_count() == 1; });
  files_[key] = *file;
  return file;
}

// Two mounts of one file have one probe in the kernel (base/same_inode.h): it must not be two here.
FunctionFinder::FilePtr FunctionFinder::same_file(
    const DescribedFile& file, const std::vector<std::uint32_t>& described) const {
  if (!file.code || file.functions.empty()) return nullptr;
  for (const auto& [key, known] : files_) {
    if (std::get<1>(key) != kNoPointer || std::get<2>(key) != described || !known->code ||
        !known->code->resembles(*file.code))
      continue;
    const int other[] = {known->code->fd()};
    const auto same = find_same_inode(file.code->fd(), other, file.functions[0].code.file_offset);
    if (same && *same) return known;
  }
  return nullptr;
}

Result<FunctionFinder::FilePtr> FunctionFinder::read(
    pid_t pid, const iocs::Mapping& mapping, UniqueFd fd, const std::vector<Wish>& wishes,
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
        one.where && one.symbol.kind == Symbol::Kind::glob && problem == iocs::kNoSuchFunction;
    if (!problem.empty() && !is_elsewhere) file->problems.emplace_back(described[i], problem);
  }
  for (std::size_t i = described.size(); i < wishes.size(); ++i)
    if (wishes[i].kind == Wish::Kind::variable)
      file->variables.emplace(wishes[i].text,
                              !found ? found.error() : error_in_words(found->problems.at(i)));
  if (!found) return FilePtr(std::move(file));
  std::vector<iocs::CodeRange> ranges;
  for (const iocs::FoundFunction& one : found->found)
    if (one.wish < described.size())
      ranges.push_back(one.code);
    else
      file->variables.insert_or_assign(wishes.at(one.wish).text, one.code.file_offset);
  if (ranges.empty()) return FilePtr(std::move(file));
  auto code = iocs::CodeFile::open(std::move(fd), mapping.path, ranges);
  if (!code) return code.error();
  file->code = std::move(*code);
  for (const iocs::FoundFunction& one : found->found) {
    if (one.wish >= described.size()) continue;
    const std::uint32_t index = described[one.wish];
    const Description& description = (*descriptions_)[index];
    file->functions.push_back({index, one.name, one.code, nullptr});
    DescribedFunction& function = file->functions.back();
    if (!description.needs_end()) continue;
    std::vector<iocs::CodeRange> parts{one.code};
    if (one.cold.size > 0) parts.push_back(one.cold);
    const bool result = description.result && description.result->from_return();
    auto ending =
        iocs::EndingFunction::find(file->code->fd(), parts, iocs::Work::nothing,
                                   result ? iocs::Places::with_result : iocs::Places::any);
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
