#include "elf/function_search.h"

#include <cxxabi.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "base/packer.h"
#include "elf/elf_file.h"
#include "elf/elf_symbols.h"
#include "elf/unwind_table.h"

namespace ioc_exporter::elf {
namespace {

constexpr std::uint64_t kMostBytes = 256u << 20, kMostCpuNs = 4'000'000'000;
constexpr std::size_t kLongestName = 1024;
constexpr std::string_view kCold = ".cold";

// "Class::method(int)" is a name with its arguments and without.
bool is_cxx_name(const std::string& wanted, const std::string& whole) {
  if (whole == wanted) return true;
  const auto arguments = whole.find('(', 1);
  return arguments != std::string::npos && std::string_view(whole).substr(0, arguments) == wanted;
}

std::string hex_of(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    text += kDigits[static_cast<unsigned char>(byte) >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::string build_id_of(ElfFile& file) {
  for (const Elf64_Phdr& segment : file.segments()) {
    if (segment.p_type != PT_NOTE || segment.p_filesz > 4096) continue;
    std::string notes(segment.p_filesz, '\0');
    if (!file.read(segment.p_offset, notes.data(), notes.size())) continue;
    for (std::string_view left = notes; left.size() >= sizeof(Elf64_Nhdr);) {
      const auto note = *Unpacker(left).take<Elf64_Nhdr>();
      const std::size_t name = (std::size_t{note.n_namesz} + 3) & ~std::size_t{3};
      const std::size_t end = sizeof note + name + note.n_descsz;
      if (end > left.size()) break;
      if (note.n_type == NT_GNU_BUILD_ID &&
          left.substr(sizeof note).starts_with(std::string_view("GNU\0", 4)))
        return hex_of(left.substr(sizeof note + name, note.n_descsz));
      left.remove_prefix(std::min((end + 3) & ~std::size_t{3}, left.size()));
    }
  }
  return "";
}

class Search {
 public:
  Search(ElfFile& file, std::span<const FunctionWish> wishes) : file_(file), wishes_(wishes) {
    for (const FunctionWish& wish : wishes) {
      has_cxx_ |= wish.kind == FunctionWish::Kind::cxx;
      const auto colon = wish.text.find(':');
      const bool has_source = wish.kind != FunctionWish::Kind::cxx && colon != std::string::npos &&
                              wish.text.find("::") == std::string::npos;
      sources_.push_back(has_source ? wish.text.substr(0, colon) : "");
      names_.push_back(has_source ? wish.text.substr(colon + 1) : wish.text);
    }
    out_.problems.resize(wishes.size());
  }

  Result<FoundFunctions> run(const std::string& what) {
    for (const std::uint32_t type : {std::uint32_t{SHT_SYMTAB}, std::uint32_t{SHT_DYNSYM}})
      for (const Elf64_Shdr& table : file_.sections())
        if (table.sh_type == type) read_table(table);
    if (!file_.is_complete())
      return error_in_words(what + ": damaged symbol table, or reading it takes too long");
    for (std::uint32_t i = 0; i < wishes_.size(); ++i)
      if (wishes_[i].kind == FunctionWish::Kind::offset ||
          wishes_[i].kind == FunctionWish::Kind::place)
        look_at_offset(i);
    for (std::uint32_t i = 0; i < wishes_.size(); ++i) judge(i);
    for (FoundFunction& one : out_.found) add_cold(one);
    return std::move(out_);
  }

 private:
  struct Part {
    CodeRange code;
    std::string source;
  };

  void read_table(const Elf64_Shdr& table) {
    std::string source;  // local symbols follow that of their source file
    (void)file_.for_each_symbol(table, kMostBytes, kLongestName,
                                [&](const Elf64_Sym& symbol, std::string_view name) {
                                  if (ELF64_ST_TYPE(symbol.st_info) == STT_FILE) source = name;
                                  const bool is_local = ELF64_ST_BIND(symbol.st_info) == STB_LOCAL;
                                  keep(symbol, name, is_local ? source : std::string());
                                });
  }

  void keep(const Elf64_Sym& symbol, std::string_view name, const std::string& source) {
    if (ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT) return keep_variable(symbol, name, source);
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF ||
        symbol.st_size == 0 || name.empty() || !file_.is_code(symbol.st_value))
      return;
    const CodeRange code{*file_.offset_of(symbol.st_value), symbol.st_size};
    if (name.ends_with(kCold)) {
      cold_.emplace(name.substr(0, name.size() - kCold.size()), Part{code, source});
      return;
    }
    const std::string cxx = has_cxx_ && name.starts_with("_Z") ? demangled(name) : "";
    for (std::uint32_t i = 0; i < wishes_.size(); ++i)
      if (matches(i, name, source, cxx)) add(i, name, code, source);
  }

  void keep_variable(const Elf64_Sym& symbol, std::string_view name, const std::string& source) {
    const auto code = std::ranges::find_if(file_.segments(), [](const Elf64_Phdr& segment) {
      return segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0;
    });
    if (symbol.st_shndx == SHN_UNDEF || code == file_.segments().end()) return;
    const CodeRange place{symbol.st_value - code->p_vaddr + code->p_offset, symbol.st_size};
    for (std::uint32_t i = 0; i < wishes_.size(); ++i)
      if (wishes_[i].kind == FunctionWish::Kind::variable && name == names_[i] &&
          (sources_[i].empty() || sources_[i] == source))
        add(i, name, place, source);
  }

  bool matches(std::uint32_t wish, std::string_view name, const std::string& source,
               const std::string& cxx) const {
    if (!sources_[wish].empty() && sources_[wish] != source) return false;
    switch (wishes_[wish].kind) {
      case FunctionWish::Kind::name:
        return name == names_[wish];
      case FunctionWish::Kind::glob:
        return glob_matches(names_[wish], name);
      case FunctionWish::Kind::cxx:
        return !cxx.empty() && is_cxx_name(names_[wish], cxx);
      default:
        return false;
    }
  }

  // A symbol of several tables, or another name of the same code, is one function.
  void add(std::uint32_t wish, std::string_view name, const CodeRange& code,
           const std::string& source) {
    if (!seen_.emplace(wish, code.file_offset).second) return;
    if (++counts_[wish] > kMostOfWish) return;
    out_.found.push_back({wish, std::string(name), code, {}});
    source_of_[code.file_offset] = source;
  }

  void look_at_offset(std::uint32_t wish) {
    const FunctionWish& wanted = wishes_[wish];
    const bool any_file = wanted.kind == FunctionWish::Kind::place;
    const std::string build_id = build_id_of(file_);
    const auto address = file_.code_address(wanted.offset);
    const auto size = address ? unwound_size_at(file_, *address) : std::nullopt;
    std::string& problem = out_.problems[wish];
    if (!any_file && build_id != wanted.text)
      problem = "the file's build id is " + (build_id.empty() ? "missing" : build_id) + ", not " +
                wanted.text;
    else if (!size)
      problem = "no function begins there";
    else
      add(wish, "", {wanted.offset, *size}, "");
  }

  void judge(std::uint32_t wish) {
    std::string& problem = out_.problems[wish];
    if (!problem.empty()) return;
    const std::size_t count = counts_[wish];
    if (wishes_[wish].kind == FunctionWish::Kind::variable)
      problem = count == 1   ? ""
                : count == 0 ? "the file has no variable " + names_[wish] + ", or is stripped"
                             : "the file has several variables " + names_[wish];
    else if (count == 0)
      problem = kNoSuchFunction;
    else if (count > kMostOfWish)
      problem = "more than 512 functions are called so";
    else if (count > 1 && wishes_[wish].kind != FunctionWish::Kind::glob)
      problem = std::to_string(count) +
                " functions are called so: add the source file (FILE.c:NAME) or the arguments";
    if (!problem.empty())
      std::erase_if(out_.found, [&](const auto& one) { return one.wish == wish; });
  }

  void add_cold(FoundFunction& function) const {
    const auto [first, last] = cold_.equal_range(function.name);
    const std::string& source = source_of_.at(function.code.file_offset);
    for (auto part = first; part != last; ++part)
      if (source.empty() ? std::next(first) == last : part->second.source == source)
        function.cold = part->second.code;
  }

  ElfFile& file_;
  std::span<const FunctionWish> wishes_;
  std::vector<std::string> sources_, names_;  // of wishes
  bool has_cxx_ = false;
  std::set<std::pair<std::uint32_t, std::uint64_t>> seen_;
  std::map<std::uint32_t, std::size_t> counts_;
  std::map<std::uint64_t, std::string> source_of_;
  std::multimap<std::string, Part, std::less<>> cold_;
  FoundFunctions out_;
};

}  // namespace

std::string demangled(std::string_view name) {
  if (name.size() > kLongestName) return "";
  int status = 0;
  struct Free {
    void operator()(char* text) const { std::free(text); }
  };
  const std::unique_ptr<char, Free> text(
      abi::__cxa_demangle(std::string(name).c_str(), nullptr, nullptr, &status));
  return status == 0 && text ? text.get() : "";
}

Result<FoundFunctions> find_functions(int fd, const std::string& path,
                                      std::span<const FunctionWish> wishes) {
  const std::string what = "find functions in " + path;
  auto file = ElfFile::open(fd, what, {kMostBytes, kMostCpuNs});
  if (!file) return std::move(file).error();
  return Search(*file, wishes).run(what);
}

Result<std::uint64_t> size_of_any_function_at(int fd, std::uint64_t offset) {
  auto named = size_of_function_at(fd, offset, {});
  if (named) return named;
  struct stat status {};
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return named;
  auto file =
      ElfFile::open(fd, "attach at offset " + std::to_string(offset), {kMostBytes, kMostCpuNs});
  const auto address = file ? file->code_address(offset) : std::nullopt;
  const auto size = address ? unwound_size_at(*file, *address) : std::nullopt;
  return size ? Result<std::uint64_t>(*size) : named;
}

bool glob_matches(std::string_view glob, std::string_view text) {
  std::size_t at = 0, star = std::string_view::npos, tried = 0, i = 0;
  while (i < text.size()) {
    if (at < glob.size() && glob[at] == '*') {
      star = at++;
      tried = i;
    } else if (at < glob.size() && (glob[at] == '?' || glob[at] == text[i])) {
      ++at, ++i;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      i = ++tried;
    } else {
      return false;
    }
  }
  return glob.find_first_not_of('*', at) == std::string_view::npos;
}

std::string packed(std::span<const FunctionWish> wishes) {
  Packer packer;
  for (const FunctionWish& wish : wishes) {
    packer.add(wish.kind);
    packer.add(wish.offset);
    packer.add(std::string_view(wish.text));
  }
  return packer.bytes();
}

std::vector<FunctionWish> unpacked_wishes(std::string_view bytes) {
  std::vector<FunctionWish> wishes;
  Unpacker unpacker(bytes);
  while (!unpacker.remainder().empty()) {
    const auto kind = unpacker.take<FunctionWish::Kind>();
    const auto offset = unpacker.take<std::uint64_t>();
    auto text = unpacker.text();
    if (!kind || !offset || !text) break;
    wishes.push_back({*kind, std::move(*text), *offset});
  }
  return wishes;
}

std::string packed(const FoundFunctions& found) {
  Packer packer;
  packer.add(found.found.size());
  for (const FoundFunction& one : found.found) {
    packer.add(one.wish);
    packer.add(std::string_view(one.name));
    packer.add(one.code);
    packer.add(one.cold);
  }
  for (const std::string& problem : found.problems) packer.add(std::string_view(problem));
  return packer.bytes();
}

std::optional<FoundFunctions> unpacked_functions(std::string_view bytes) {
  FoundFunctions found;
  Unpacker unpacker(bytes);
  const auto count = unpacker.take<std::size_t>();
  for (std::size_t i = 0; count && i < *count; ++i) {
    const auto wish = unpacker.take<std::uint32_t>();
    auto name = unpacker.text();
    const auto code = unpacker.take<CodeRange>();
    const auto cold = unpacker.take<CodeRange>();
    if (!wish || !name || !code || !cold) return {};
    found.found.push_back({*wish, std::move(*name), *code, *cold});
  }
  while (!unpacker.remainder().empty()) {
    auto problem = unpacker.text();
    if (!problem) return {};
    found.problems.push_back(std::move(*problem));
  }
  return count ? std::optional(std::move(found)) : std::nullopt;
}

}  // namespace ioc_exporter::elf
