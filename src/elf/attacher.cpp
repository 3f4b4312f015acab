#include "elf/attacher.h"

#include <iterator>

#include "elf/elf_symbols.h"
#include "elf/function_entry.h"
#include "elf/function_search.h"

namespace ioc_exporter::elf {
namespace {

// The helper is told where a function begins, and where its entry is: that is looked at again.
Result<void> check_entry(int fd, const HelperRequest& request, const FunctionPrograms& programs) {
  const std::uint64_t begin = request.more[0];
  const auto named = programs.functions.empty()
                         ? size_of_any_function_at(fd, begin)
                         : size_of_function_at(fd, begin, programs.functions);
  if (!named && (programs.is_unnamed == nullptr || !programs.is_unnamed(fd, begin)))
    return named.error();
  if (request.offset == begin) return {};
  const auto size = named ? named : size_of_any_function_at(fd, begin);
  if (size && request.offset == entry_of(fd, {begin, *size}).offset) return {};
  return error_in_words("attach at offset " + std::to_string(request.offset) +
                        ": the function that begins at " + std::to_string(begin) +
                        " has no entry there");
}

// The helper is told where a function begins. Its name and its size, and those of the part that the
// compiler has put elsewhere, are in the file's symbol table, and its ends are in its code.
Result<FunctionEnds> ends_asked_for(int fd, const HelperRequest& request,
                                    const FunctionPrograms& programs) {
  const std::string function = programs.functions.empty() ? "it" : programs.functions[0];
  const std::string names[] = {function, function + ".cold"};
  std::vector<CodeRange> parts;
  for (std::size_t i = 0; i < std::size(names) && (i == 0 || request.more[i] != 0); ++i) {
    const char* const name[] = {names[i].c_str()};
    auto size = programs.functions.empty() ? size_of_any_function_at(fd, request.more[i])
                                           : size_of_function_at(fd, request.more[i], name);
    if (!size) return std::move(size).error();
    parts.push_back({request.more[i], *size});
  }
  auto found = EndingFunction::find(fd, parts, Work::nothing, programs.ends);
  if (!found) return std::move(found).error();
  const FunctionEnds& ends = (*found)->ends();
  if (std::ranges::find(ends, request.offset, &FunctionEnd::offset) != ends.end()) return ends;
  return error_in_words("attach at offset " + std::to_string(request.offset) + ": " + function +
                        " does not end there");
}

std::vector<std::uint64_t> offsets_of(const FunctionEnds& ends) {
  std::vector<std::uint64_t> offsets;
  for (const FunctionEnd& end : ends) offsets.push_back(end.offset);
  return offsets;
}

}  // namespace

Error Attacher::error_at(std::uint32_t number, const ProbePlace& place, const Error& error) const {
  const auto& names = programs_.at(number).functions;
  return kernel::attach_error(
      kernel::uprobe_text(names.empty() ? place.function : names[0], place.display_path, place.pid),
      error);
}

Result<FunctionProbe> Attacher::attach(std::uint32_t number, const ProbePlace& place) const {
  FunctionProbe made;
  if (auto ok = place.file->may_probe(place.offset); !ok)
    return error_at(number, place, ok.error());
  if (auto ok = attach_ends(made, number, place); !ok) return ok.error();
  auto entry = ask(number, place, nullptr);
  if (!entry) return error_at(number, place, entry.error());
  made.at_entry = std::move(*entry);
  return made;
}

Result<void> Attacher::attach_ends(FunctionProbe& to, std::uint32_t number,
                                   const ProbePlace& place) const {
  if (place.ending == nullptr || !to.at_ends.empty()) return {};
  auto made = make_ends(place.ends_number.value_or(number), place);
  if (!made) return error_at(number, place, made.error());
  to.at_ends = std::move(*made);
  return {};
}

Result<std::vector<UniqueFd>> Attacher::make_ends(std::uint32_t number,
                                                  const ProbePlace& place) const {
  if (auto ok = place.file->may_probe(place.offset); !ok) return ok.error();
  if (auto ok = place.ending->check(*place.file); !ok) return ok.error();
  const FunctionEnds& ends = place.ending->ends();
  std::vector<UniqueFd> made;
  // One link is for all of them.
  for (std::size_t i = 0; i < (links_ ? 1 : ends.size()); ++i) {
    auto attached = ask(number, place, &ends[i]);
    if (!attached) return std::move(attached).error();
    made.push_back(std::move(*attached));
  }
  return made;
}

// `end`: where to attach; null: at the entry.
Result<UniqueFd> Attacher::ask(std::uint32_t number, const ProbePlace& place,
                               const FunctionEnd* end) const {
  const int file = place.file->fd();
  const std::uint64_t offset =
      end != nullptr ? end->offset : place.file->entry(place.offset).offset;
  if (!helper_) {
    const bool all = end != nullptr && links_;
    return attach_here(number, file, place.pid, end != nullptr,
                       all ? offsets_of(place.ending->ends()) : std::vector{offset});
  }
  HelperRequest request{.what = what_ + (end != nullptr ? 1u : 0u),
                        .number = number,
                        .pid = place.pid,
                        .offset = offset};
  request.more[0] = place.offset;
  if (end != nullptr) {
    const std::vector<CodeRange>& parts = place.ending->parts();
    for (std::size_t i = 0; i < std::min(parts.size(), std::size(request.more)); ++i)
      request.more[i] = parts[i].file_offset;
  }
  return kernel::ask_to_attach(*helper_, request, file);
}

// By a link at each of `offsets`, by a perf event at the first.
Result<UniqueFd> Attacher::attach_here(std::uint32_t number, int file, std::int32_t pid,
                                       bool at_end, std::vector<std::uint64_t> offsets) const {
  const FunctionPrograms& programs = programs_.at(number);
  const bool all = pid == kernel::kAllProcesses;
  const bool apart = all && !links_ && programs.entry_all != nullptr;
  auto program = kernel::program_fd(object_, at_end  ? programs.at_end
                                             : apart ? programs.entry_all
                                                     : programs.entry);
  if (!program) return std::move(program).error();
  const kernel::UprobePlace place{"/proc/self/fd/" + std::to_string(file), offsets[0], pid};
  const char* const function = programs.functions.empty() ? "" : programs.functions[0];
  return kernel::attach_uprobes(*program, links_, place, offsets, function,
                                all ? programs.cookie_all : programs.cookie);
}

Result<UniqueFd> Attacher::serve(const HelperRequest& request, const UniqueFd& file) const {
  const bool is_known = serves(request) && request.number < programs_.size() && file &&
                        (request.pid > 0 || request.pid == kernel::kAllProcesses);
  if (!is_known) return error_in_words("attach: no such request");
  const FunctionPrograms& programs = programs_[request.number];
  if (request.what != what_) {
    auto ends = ends_asked_for(file.get(), request, programs);
    if (!ends) return std::move(ends).error();
    return attach_here(request.number, file.get(), request.pid, true,
                       links_ ? offsets_of(*ends) : std::vector{request.offset});
  }
  if (auto ok = check_entry(file.get(), request, programs); !ok) return ok.error();
  return attach_here(request.number, file.get(), request.pid, false, {request.offset});
}

}  // namespace ioc_exporter::elf
