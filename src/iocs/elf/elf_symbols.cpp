#include "iocs/elf/elf_symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <set>

#include "base/wall_clock.h"
#include "iocs/elf/rsrv_functions.h"
#include "iocs/memory/reader_wire.h"

namespace ioc_exporter::iocs {
namespace {

// Bytes of all symbol tables of a file. More than any IOC has; what is over it is damaged or made
// to hurt: a small file can claim any number of large tables that all lie in the same hole of it.
constexpr std::uint64_t kMaxTables = 128u << 20;
// CPU time that the search of one file may take.
constexpr std::uint64_t kMostCpuNs = 2'000'000'000;
constexpr std::size_t kSymbolsBetweenLooks = 1u << 16;
constexpr std::size_t kMaxSegments = 256;

#if defined(__x86_64__)
constexpr unsigned kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr unsigned kMachine = EM_AARCH64;
#else
#error "which ELF machine is this?"
#endif

struct ElfEnd {
  void operator()(Elf* elf) const { elf_end(elf); }
};

// The header is judged before libelf sees the file: counts that overflow its fields would make it
// allocate by what section 0 claims.
Result<void> check_header(int fd, const std::string& what) {
  Elf64_Ehdr header;
  const ssize_t got = ::pread(fd, &header, sizeof header, 0);
  if (got < 0) return last_error(what);
  if (got < static_cast<ssize_t>(sizeof header) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return error_in_words(what + ": not an ELF file");
  constexpr unsigned char kOrder =
      std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != kOrder ||
      header.e_machine != kMachine)
    return error_in_words(what + ": built for another kind of processor");
  if (header.e_type != ET_EXEC && header.e_type != ET_DYN)
    return error_in_words(what + ": neither executable nor shared library");
  if (header.e_phnum > kMaxSegments || (header.e_shoff != 0 && header.e_shnum == 0))
    return error_in_words(what + ": too many segments or sections");
  return {};
}

bool defined(const GElf_Sym& symbol) {
  const int type = GELF_ST_TYPE(symbol.st_info);
  return symbol.st_shndx != SHN_UNDEF && symbol.st_shndx != SHN_ABS &&
         symbol.st_shndx != SHN_COMMON && symbol.st_value != 0 &&
         (type == STT_FUNC || type == STT_OBJECT || type == STT_NOTYPE);
}

}  // namespace

class ElfReader {
 public:
  ElfReader(int fd, Elf* elf, std::string what, std::span<const std::string> wanted)
      : fd_(fd), elf_(elf), what_(std::move(what)), wanted_(wanted.begin(), wanted.end()) {
    for (const std::string_view name : wanted_) longest_ = std::max(longest_, name.size());
  }

  Result<ElfSymbols> run() {
    auto segments = read_segments();
    if (!segments) return std::move(segments).error();
    for (const GElf_Word table : {GElf_Word{SHT_DYNSYM}, GElf_Word{SHT_SYMTAB}}) {
      auto done = read_tables(table);
      if (!done) return std::move(done).error();
    }
    add_rsrv_functions();
    return std::move(out_);
  }

 private:
  Error failed(const char* part) const {
    const char* why = elf_errmsg(-1);
    return error_in_words(what_ + ": " + part + ": " + (why != nullptr ? why : "damaged"));
  }

  Result<void> read_segments() {
    std::size_t count = 0;
    if (elf_getphdrnum(elf_, &count) != 0) return failed("program headers");
    for (std::size_t i = 0; i < count && i < kMaxSegments; ++i) {
      GElf_Phdr header;
      if (gelf_getphdr(elf_, static_cast<int>(i), &header) == nullptr)
        return failed("program headers");
      if (header.p_type == PT_LOAD)
        out_.segments_.push_back(
            {header.p_offset, header.p_vaddr, header.p_filesz, (header.p_flags & PF_X) != 0});
    }
    return {};
  }

  Result<void> read_tables(GElf_Word type) {
    locals_.clear();
    ambiguous_.clear();
    for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf_, section)) != nullptr;) {
      GElf_Shdr header;
      if (gelf_getshdr(section, &header) == nullptr) return failed("section headers");
      if (header.sh_type != type) continue;
      auto done = read_table(section, header);
      if (!done) return done;
      if (type == SHT_SYMTAB) out_.stripped_ = false;
    }
    // A hidden symbol of a static executable is local; a name that several files use is ambiguous.
    for (const auto& [name, symbol] : locals_)
      if (!ambiguous_.contains(name)) out_.symbols_.emplace(name, symbol);
    return {};
  }

  Result<void> read_table(Elf_Scn* section, const GElf_Shdr& header) {
    Elf_Scn* const strings_section = elf_getscn(elf_, header.sh_link);
    GElf_Shdr strings_header;
    if (strings_section == nullptr || gelf_getshdr(strings_section, &strings_header) == nullptr ||
        strings_header.sh_type != SHT_STRTAB)
      return failed("symbol names");
    for (const std::uint64_t size : {header.sh_size, strings_header.sh_size}) {
      if (size > kMaxTables - bytes_) return error_in_words(what_ + ": symbol tables too large");
      bytes_ += size;
    }
    Elf_Data* const symbols = elf_getdata(section, nullptr);
    Elf_Data* const strings = elf_getdata(strings_section, nullptr);
    if (symbols == nullptr || strings == nullptr) return failed("symbol table");
    if (symbols->d_buf == nullptr || strings->d_buf == nullptr) return {};

    const std::string_view names(static_cast<const char*>(strings->d_buf), strings->d_size);
    const std::size_t count = symbols->d_size / sizeof(Elf64_Sym);
    for (std::size_t i = 0; i < count && i < INT32_MAX; ++i) {
      if (i % kSymbolsBetweenLooks == 0 && clock_ns(CLOCK_THREAD_CPUTIME_ID) > deadline_ns_)
        return error_in_words(what_ + ": that takes too long");
      GElf_Sym symbol;
      if (gelf_getsym(symbols, static_cast<int>(i), &symbol) == nullptr)
        return failed("symbol table");
      if (defined(symbol) && symbol.st_name < names.size())
        keep(symbol, names.substr(symbol.st_name));
    }
    return {};
  }

  // `rest` begins at the symbol's name and ends with the table.
  void keep(const GElf_Sym& symbol, std::string_view rest) {
    const std::string_view name = rest.substr(0, rest.substr(0, longest_ + 1).find('\0'));
    const auto wanted = wanted_.find(name);
    if (wanted == wanted_.end()) return;
    ElfSymbol found{symbol.st_value, {}, symbol.st_size};
    if (const LoadSegment* segment = segment_of(symbol.st_value)) {
      const std::uint64_t in_segment = symbol.st_value - segment->address;
      found.file_offset = segment->offset + in_segment;
      found.function = GELF_ST_TYPE(symbol.st_info) == STT_FUNC && segment->executable &&
                       symbol.st_size > 0 && symbol.st_size <= segment->file_size - in_segment;
    }
    if (GELF_ST_BIND(symbol.st_info) != STB_LOCAL)
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

  // How long it is is not known.
  void add_function(const char* name, std::uint64_t address) {
    constexpr std::uint64_t kLeastSize = 16;
    const LoadSegment* const segment = segment_of(address);
    if (!wanted_.contains(name) || segment == nullptr) return;
    const std::uint64_t in_segment = address - segment->address;
    const std::uint64_t size = std::min(kLeastSize, segment->file_size - in_segment);
    out_.symbols_.emplace(name, ElfSymbol{address, segment->offset + in_segment, size, true});
  }

  const LoadSegment* segment_of(std::uint64_t address) const {
    for (const LoadSegment& segment : out_.segments_)
      if (address >= segment.address && address - segment.address < segment.file_size)
        return &segment;
    return nullptr;
  }

  int fd_;
  Elf* elf_;
  std::string what_;
  std::set<std::string_view> wanted_;
  std::size_t longest_ = 0;  // of the wanted names
  std::uint64_t bytes_ = 0;  // of the tables read
  std::uint64_t deadline_ns_ = clock_ns(CLOCK_THREAD_CPUTIME_ID) + kMostCpuNs;
  ElfSymbols out_;
  std::map<std::string, ElfSymbol, std::less<>> locals_;
  std::set<std::string, std::less<>> ambiguous_;
};

Result<ElfSymbols> ElfSymbols::read(int fd, const std::string& path,
                                    std::span<const std::string> wanted) {
  const std::string what = "read symbols of " + path;
  auto header = check_header(fd, what);
  if (!header) return std::move(header).error();
  if (elf_version(EV_CURRENT) == EV_NONE)
    return error_in_words(what + ": libelf knows another version of ELF");
  // READ, not READ_MMAP: a file that is cut while it is mapped would end us with SIGBUS.
  const std::unique_ptr<Elf, ElfEnd> elf(elf_begin(fd, ELF_C_READ, nullptr));
  if (elf == nullptr || elf_kind(elf.get()) != ELF_K_ELF)
    return error_in_words(what + ": not an ELF file");
  return ElfReader(fd, elf.get(), what, wanted).run();
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

}  // namespace ioc_exporter::iocs
