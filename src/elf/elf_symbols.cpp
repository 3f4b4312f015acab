#include "elf/elf_symbols.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>

#include "base/packer.h"
#include "elf/elf_file.h"
#include "elf/rsrv_functions.h"
#include "elf/unwind_table.h"

namespace ioc_exporter::elf {
namespace {

// Bytes of all symbol tables of a file. More than any IOC has; what is over it is damaged or made
// to hurt: a small file can claim any number of large tables that all lie in the same hole of it.
constexpr std::uint64_t kMaxTables = 128u << 20;
constexpr std::uint64_t kMaxHeaders = 1u << 20;
// CPU time that the search of one file may take.
constexpr std::uint64_t kMostCpuNs = 2'000'000'000;

bool defined(const Elf64_Sym& symbol) {
  const int type = ELF64_ST_TYPE(symbol.st_info);
  return symbol.st_shndx != SHN_UNDEF && symbol.st_shndx != SHN_ABS &&
         symbol.st_shndx != SHN_COMMON && symbol.st_value != 0 &&
         (type == STT_FUNC || type == STT_OBJECT || type == STT_NOTYPE);
}

}  // namespace

class ElfReader {
 public:
  ElfReader(int fd, ElfFile& file, std::string what, std::span<const std::string> wanted)
      : fd_(fd), file_(file), what_(std::move(what)), wanted_(wanted.begin(), wanted.end()) {
    for (const std::string_view name : wanted_) longest_ = std::max(longest_, name.size());
  }

  Result<ElfSymbols> run() {
    for (const Elf64_Phdr& segment : file_.segments())
      if (segment.p_type == PT_LOAD)
        out_.segments_.push_back(
            {segment.p_offset, segment.p_vaddr, segment.p_filesz, (segment.p_flags & PF_X) != 0});
    for (const std::uint32_t type : {std::uint32_t{SHT_DYNSYM}, std::uint32_t{SHT_SYMTAB}}) {
      auto done = read_tables(type);
      if (!done) return std::move(done).error();
    }
    add_rsrv_functions();
    return std::move(out_);
  }

 private:
  Result<void> read_tables(std::uint32_t type) {
    locals_.clear();
    ambiguous_.clear();
    for (const Elf64_Shdr& section : file_.sections()) {
      if (section.sh_type != type) continue;
      auto done = read_table(section);
      if (!done) return done;
      if (type == SHT_SYMTAB) out_.stripped_ = false;
    }
    // A hidden symbol of a static executable is local; a name that several files use is ambiguous.
    for (const auto& [name, symbol] : locals_)
      if (!ambiguous_.contains(name)) out_.symbols_.emplace(name, symbol);
    return {};
  }

  Result<void> read_table(const Elf64_Shdr& table) {
    const bool has_names = file_.for_each_symbol(
        table, kMaxTables, longest_, [&](const Elf64_Sym& symbol, std::string_view name) {
          if (defined(symbol) || symbol.st_shndx == SHN_UNDEF) keep(symbol, name);
        });
    if (!has_names) return error_in_words(what_ + ": damaged symbol names, or tables too large");
    if (file_.is_complete()) return {};
    return error_in_words(what_ + ": damaged symbol table, or reading it takes too long");
  }

  void keep(const Elf64_Sym& symbol, std::string_view name) {
    const auto wanted = wanted_.find(name);
    if (wanted == wanted_.end()) return;
    if (symbol.st_shndx == SHN_UNDEF) {
      out_.imported_.emplace(*wanted);
      return;
    }
    ElfSymbol found{symbol.st_value, {}, symbol.st_size};
    if (const Elf64_Phdr* const segment = file_.segment_of(symbol.st_value)) {
      const std::uint64_t in_segment = symbol.st_value - segment->p_vaddr;
      found.file_offset = segment->p_offset + in_segment;
      found.function = ELF64_ST_TYPE(symbol.st_info) == STT_FUNC &&
                       (segment->p_flags & PF_X) != 0 && symbol.st_size > 0 &&
                       symbol.st_size <= segment->p_filesz - in_segment;
    }
    if (ELF64_ST_BIND(symbol.st_info) != STB_LOCAL)
      out_.symbols_.emplace(*wanted, found);
    else if (!locals_.emplace(*wanted, found).second)
      ambiguous_.emplace(*wanted);
  }

  // In the file of rsrv's variables, which are exported.
  void add_rsrv_functions() {
    if (out_.find("pCaBucket") == nullptr || out_.find("clientQ") == nullptr) return;
    const bool is_named = out_.find("write_action") != nullptr && out_.find("send_err") != nullptr;
    const auto found = is_named ? std::nullopt : find_rsrv_functions(fd_);
    if (!found) return;
    add_function("write_action", found->write_action);
    add_function("write_notify_action", found->write_notify_action);
    if (found->send_err) add_function("send_err", *found->send_err);
    if (found->write_notify_done_callback)
      add_function("write_notify_done_callback", *found->write_notify_done_callback);
  }

  void add_function(const char* name, std::uint64_t address) {
    constexpr std::uint64_t kLeastSize = 16;  // where nothing says how long it is
    const Elf64_Phdr* const segment = file_.segment_of(address);
    if (!wanted_.contains(name) || segment == nullptr) return;
    const std::uint64_t in_segment = address - segment->p_vaddr;
    const std::uint64_t size = std::min(unwound_size_at(file_, address).value_or(kLeastSize),
                                        segment->p_filesz - in_segment);
    out_.symbols_.emplace(name, ElfSymbol{address, segment->p_offset + in_segment, size, true});
  }

  int fd_;
  ElfFile& file_;
  std::string what_;
  std::set<std::string_view> wanted_;
  std::size_t longest_ = 0;  // of the wanted names
  ElfSymbols out_;
  std::map<std::string, ElfSymbol, std::less<>> locals_;
  std::set<std::string, std::less<>> ambiguous_;
};

Result<ElfSymbols> ElfSymbols::read(int fd, const std::string& path,
                                    std::span<const std::string> wanted) {
  const std::string what = "read symbols of " + path;
  auto file = ElfFile::open(fd, what, {kMaxTables + kMaxHeaders, kMostCpuNs});
  if (!file) return std::move(file).error();
  return ElfReader(fd, *file, what, wanted).run();
}

Result<std::uint64_t> size_of_function_at(int fd, std::uint64_t offset,
                                          std::span<const char* const> names) {
  constexpr std::size_t kLongest = 384;  // of a name: C++
  const std::string what = "attach at offset " + std::to_string(offset);
  struct stat status {};
  if (::fstat(fd, &status) != 0) return last_error(what);
  if (!S_ISREG(status.st_mode)) return error_in_words(what + ": not a regular file");
  auto file = ElfFile::open(fd, what, {kMaxTables, kMostCpuNs});
  if (!file) return std::move(file).error();
  const auto address = file->code_address(offset);
  const std::vector<Elf64_Shdr>& sections = file->sections();
  const auto is_named = [&](const Elf64_Sym& symbol, const Elf64_Shdr& strings) {
    const int type = ELF64_ST_TYPE(symbol.st_info);
    if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_name >= strings.sh_size)
      return false;
    if (names.empty()) return symbol.st_size > 0;
    std::array<char, kLongest> name{};
    const auto room = static_cast<std::size_t>(
        std::min<std::uint64_t>(strings.sh_size - symbol.st_name, name.size() - 1));
    return file->read(strings.sh_offset + symbol.st_name, name.data(), room) &&
           std::ranges::any_of(
               names, [&](const char* wanted) { return std::string_view(wanted) == name.data(); });
  };
  std::optional<std::uint64_t> size;
  for (const Elf64_Shdr& table : sections)
    if (address && !size && (table.sh_type == SHT_SYMTAB || table.sh_type == SHT_DYNSYM) &&
        table.sh_entsize == sizeof(Elf64_Sym) && table.sh_link < sections.size())
      file->for_each<Elf64_Sym>(table.sh_offset, table.sh_size / sizeof(Elf64_Sym),
                                [&](const Elf64_Sym& symbol, std::uint64_t) {
                                  if (!size && symbol.st_value == *address &&
                                      symbol.st_shndx != SHN_UNDEF &&
                                      is_named(symbol, sections[table.sh_link]))
                                    size = symbol.st_size;
                                });
  if (size) return *size;
  return error_in_words(what + ": the file's symbols name no function there that is attached to");
}

std::string ElfSymbols::packed() const {
  Packer packer;
  packer.add(stripped_);
  packer.add(segments_.size());
  for (const LoadSegment& segment : segments_) packer.add(segment);
  packer.add(symbols_.size());
  for (const auto& [name, symbol] : symbols_) {
    packer.add(std::string_view(name));
    packer.add(symbol);
  }
  packer.add(imported_.size());
  for (const std::string& name : imported_) packer.add(std::string_view(name));
  return packer.bytes();
}

std::optional<ElfSymbols> ElfSymbols::unpacked(std::string_view bytes) {
  Unpacker unpacker(bytes);
  ElfSymbols elf;
  const auto stripped = unpacker.take<bool>();
  const auto segments = unpacker.take<std::size_t>();
  if (!stripped || !segments) return {};
  elf.stripped_ = *stripped;
  for (std::size_t i = 0; i < *segments; ++i) {
    const auto segment = unpacker.take<LoadSegment>();
    if (!segment) return {};
    elf.segments_.push_back(*segment);
  }
  const auto symbols = unpacker.take<std::size_t>();
  for (std::size_t i = 0; symbols && i < *symbols; ++i) {
    auto name = unpacker.text();
    const auto symbol = unpacker.take<ElfSymbol>();
    if (!name || !symbol) return {};
    elf.symbols_.emplace(std::move(*name), *symbol);
  }
  const auto imported = unpacker.take<std::size_t>();
  if (!imported) return {};
  for (std::size_t i = 0; i < *imported; ++i) {
    auto name = unpacker.text();
    if (!name) return {};
    elf.imported_.insert(std::move(*name));
  }
  return elf;
}

const ElfSymbol* ElfSymbols::find(std::string_view name) const {
  const auto found = symbols_.find(name);
  return found == symbols_.end() ? nullptr : &found->second;
}

std::vector<CodeRange> ElfSymbols::functions() const {
  std::vector<CodeRange> all;
  for (const auto& [name, symbol] : symbols_)
    if (symbol.function && !name.ends_with(".cold"))
      all.push_back({*symbol.file_offset, symbol.size});
  return all;
}

std::optional<std::uint64_t> ElfSymbols::load_bias(std::uint64_t start,
                                                   std::uint64_t offset) const {
  static const auto kPage = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  for (const LoadSegment& segment : segments_) {
    // The kernel maps whole pages: the mapping begins at the page that holds the segment's first
    // byte.
    const std::uint64_t first = segment.offset - segment.offset % kPage;
    if (!segment.executable || offset < first) continue;
    if (offset < segment.offset || offset - segment.offset < segment.file_size)
      return start - (segment.address + (offset - segment.offset));
  }
  return {};
}

}  // namespace ioc_exporter::elf
