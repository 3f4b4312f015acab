// Runs tests/bpf/fake_ioc.c and talks to it.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <stdexcept>

#include "elf/elf_symbols.h"
#include "records/probe/process.h"

namespace ioc_exporter::test {

class FakeIoc {
 public:
  // What the next ones run: FAKE_IOC, or FAKE_IOC_GUARDED, whose functions begin with endbr64.
  static inline std::string usual = FAKE_IOC;

  explicit FakeIoc(const std::string& program = usual) {
    int to_child[2], from_child[2];
    if (::pipe2(to_child, O_CLOEXEC) != 0 || ::pipe2(from_child, O_CLOEXEC) != 0)
      throw std::runtime_error("no pipes");
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(to_child[0], 0);
      ::dup2(from_child[1], 1);
      ::execl(program.c_str(), "fake_ioc", nullptr);
      ::_exit(127);
    }
    ::close(to_child[0]);
    ::close(from_child[1]);
    in_ = ::fdopen(to_child[1], "w");
    out_ = ::fdopen(from_child[0], "r");
    unsigned long long address = 0;
    if (std::fscanf(out_, "%llu %zu", &address, &record_size_) != 2)
      throw std::runtime_error("fake_ioc does not speak");
    address_ = address;
  }
  ~FakeIoc() {
    std::fclose(in_);
    std::fclose(out_);
    ::waitpid(pid_, nullptr, 0);
  }
  FakeIoc(const FakeIoc&) = delete;
  FakeIoc& operator=(const FakeIoc&) = delete;

  void send(const std::string& line) {
    std::fprintf(in_, "%s\n", line.c_str());
    std::fflush(in_);
  }
  // How many dbProcess calls have processed so far, as the process itself counts them.
  std::uint64_t answer() {
    unsigned long long processed = 0;
    if (std::fscanf(out_, " ok %llu", &processed) != 1)
      throw std::runtime_error("fake_ioc is gone");
    return processed;
  }
  std::uint64_t ask(const std::string& line) {
    send(line);
    return answer();
  }
  // One after the other; the last answer.
  std::uint64_t ask(std::initializer_list<std::string> lines) {
    std::uint64_t processed = 0;
    for (const std::string& line : lines) processed = ask(line);
    return processed;
  }
  // Each of the first records links to the next.
  void chain(int links) {
    for (int i = 0; i < links; ++i)
      ask("set " + std::to_string(i) + " link " + std::to_string(i + 1));
  }

  std::uint64_t record(int index) const {
    return address_ + record_size_ * static_cast<std::size_t>(index);
  }
  pid_t pid() const { return pid_; }

  // The code of one of its functions.
  static elf::CodeRange code_of(const std::string& function) {
    const UniqueFd file(::open(usual.c_str(), O_RDONLY | O_CLOEXEC));
    const std::string wanted[] = {function};
    const auto symbols = elf::ElfSymbols::read(file.get(), usual, wanted);
    if (!symbols || symbols->find(function) == nullptr) throw std::runtime_error("no symbols");
    const elf::ElfSymbol& symbol = *symbols->find(function);
    return {*symbol.file_offset, symbol.size};
  }
  static std::uint64_t offset_of(const std::string& function) {
    return code_of(function).file_offset;
  }
  // Where it ends.
  static std::shared_ptr<const elf::EndingFunction> ending(const std::string& function) {
    const UniqueFd file(::open(usual.c_str(), O_RDONLY | O_CLOEXEC));
    const elf::CodeRange code[] = {code_of(function)};
    auto found = elf::EndingFunction::find(file.get(), code);
    if (!found) throw std::runtime_error(found.error().message());
    return std::move(*found);
  }

  // With `one_read`, the probes may decide by one look at the record's fields.
  records::RecordTarget target(std::uint32_t records, bool one_read) const {
    records::RecordTarget target;
    target.ioc = {pid_, 0};
    target.path = "/proc/" + std::to_string(pid_) + "/exe";
    std::vector<elf::CodeRange> functions;
    for (const char* const name :
         {"dbProcess", "scanList", "dbPut", "dbProcessNotify", "recGblFwdLink"})
      functions.push_back(code_of(name));
    auto code = elf::CodeFile::open(UniqueFd(::open(target.path.c_str(), O_RDONLY | O_CLOEXEC)),
                                    target.path, functions);
    if (!code) throw std::runtime_error(code.error().message());
    target.code = std::move(*code);
    target.offset = offset_of("dbProcess");
    target.completion =
        records::ProbePoint{records::RecordProgram::completion, offset_of("recGblFwdLink")};
    target.scan_list = code_of("scanList");
    target.scan = 132;
    target.disv = 266;
    target.disa = 268;
    target.stat = 410;
    target.sevr = 412;
    target.pact = 505;
    target.puts.ppn = 416;
    if (one_read) target.sdis = 272;
    target.ending = ending("dbProcess");
    target.records = records;
    return target;
  }

 private:
  pid_t pid_ = -1;
  std::FILE* in_ = nullptr;
  std::FILE* out_ = nullptr;
  std::uint64_t address_ = 0;
  std::size_t record_size_ = 0;
};

}  // namespace ioc_exporter::test
