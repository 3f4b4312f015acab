// Ends of functions as compilers make them: ending_shapes.c is compiled by each compiler that this
// machine has, also for AArch64. Here each function is executed step by step: each call that
// returns passes one end, once, with its stack pointer, and no end is found that none passes. For
// another processor the ends are compared with the disassembly.
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "elf/function_ends.h"
#include "elf/function_entry.h"
#include "support/temporary_folder.h"

namespace ioc_exporter::elf {
namespace {

namespace fs = std::filesystem;

struct Compiler {
  std::string command;  // with what chooses its target
  std::string tools;    // prefix of ld, readelf and objdump for that
  bool arm64 = false;
};

bool is_there(const std::string& command) {
  std::istringstream folders(std::getenv("PATH"));
  for (std::string folder; std::getline(folders, folder, ':');)
    if (::access((folder + "/" + command).c_str(), X_OK) == 0) return true;
  return false;
}

std::vector<Compiler> compilers() {
  const std::string cross = "aarch64-linux-gnu-";
  std::vector<Compiler> all;
  const auto add = [&](const std::string& name) {
    if (is_there(name)) all.push_back({name, "", own_decoder() == decode_arm64});
    if (!is_there(cross + "ld") || own_decoder() == decode_arm64) return;
    if (is_there(cross + name)) all.push_back({cross + name, cross, true});
    if (is_there(name) && name.starts_with("clang"))
      all.push_back({name + " --target=aarch64-linux-gnu", cross, true});
  };
  for (int version = 9; version < 30; ++version)
    for (const char* name : {"gcc-", "clang-"}) add(name + std::to_string(version));
  if (all.empty())
    for (const char* name : {"gcc", "clang"}) add(name);
  return all;
}

std::string output_of(const std::string& command) {
  std::string text;
  FILE* const pipe = ::popen(command.c_str(), "r");
  std::array<char, 4096> some;
  while (const std::size_t got = std::fread(some.data(), 1, some.size(), pipe))
    text.append(some.data(), got);
  EXPECT_EQ(::pclose(pipe), 0) << command << "\n" << text;
  return text;
}

struct Function {
  std::uint64_t entry = 0;  // offset in the file
  FunctionEntry probed = {};
  std::vector<CodePart> parts;
  FunctionEnds ends;
};

class CompiledEnds : public ::testing::TestWithParam<std::tuple<Compiler, const char*>> {
 protected:
  // Compiles, and finds the ends of the functions.
  void make(const std::string& options) {
    const auto& [compiler, level] = GetParam();
    const std::string source = IOC_EXPORTER_ENDING_SHAPES;
    output_of("cd " + folder_ + " && " + compiler.command + " " + level + " " + options +
              " -fPIC -c " + source + ".c " + source + "_support.c 2>&1 && " + compiler.tools +
              "ld -shared -z now -o " + file() + " *.o 2>&1");
    ASSERT_FALSE(HasFailure());
    read_file();
    read_symbols(output_of("readelf -sW " + file()));
    for (auto& [name, function] : functions_) {
      const Work work = name == "scan_list" ? Work::call : Work::indirect_call;
      auto ends =
          find_function_ends(function.parts, compiler.arm64 ? decode_arm64 : decode_x86_64, work);
      EXPECT_TRUE(ends) << name << ": " << ends.error().message();
      if (ends) function.ends = std::move(*ends);
      function.probed =
          find_function_entry(function.parts[0], compiler.arm64 ? decode_arm64 : decode_x86_64);
    }
  }
  std::string file() const { return folder_ + "/shapes.so"; }
  std::string disassembly() const {
    return output_of(std::get<0>(GetParam()).tools + "objdump -d --no-show-raw-insn " + file());
  }

  std::map<std::string, Function> functions_ = {
      {"process", {}}, {"process_early", {}}, {"process_by_kind", {}}, {"scan_list", {}}};

 private:
  void read_file() {
    code_.resize(fs::file_size(file()));
    const UniqueFd fd(::open(file().c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_EQ(::pread(fd.get(), code_.data(), code_.size(), 0), ssize_t(code_.size()));
  }
  // Number: value size type bind visibility section name. Addresses are offsets in this file.
  void read_symbols(const std::string& text) {
    std::istringstream lines(text.substr(text.find(".symtab")));
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string number, value, size, type, bind, visibility, section, name;
      words >> number >> value >> size >> type >> bind >> visibility >> section >> name;
      const std::string whole = name.substr(0, name.find(".cold"));
      if (type != "FUNC" || !functions_.contains(whole)) continue;
      Function& function = functions_.at(whole);
      const std::uint64_t offset = std::stoull(value, nullptr, 16);
      const CodePart part{offset, std::span(code_).subspan(offset, std::stoull(size, nullptr, 0))};
      function.parts.insert(name == whole ? function.parts.begin() : function.parts.end(), part);
      if (name == whole) function.entry = offset;
    }
  }

  const TemporaryFolder temporary_;
  const std::string folder_ = temporary_.path();
  std::vector<std::uint8_t> code_;
};

// All `ret`, and jumps to other functions.
void compare_with(const std::string& disassembly, const std::string& name,
                  const Function& function) {
  const auto has = [&](std::uint64_t offset) {
    return std::ranges::any_of(function.parts, [offset](const CodePart& part) {
      return offset - part.offset < part.bytes.size();
    });
  };
  FunctionEnds ends;
  std::istringstream lines(disassembly);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string address, mnemonic, target;
    words >> address >> mnemonic >> target;
    if (!address.ends_with(':') || line[0] != ' ') continue;
    const std::uint64_t offset = std::stoull(address, nullptr, 16);
    if (has(offset) &&
        (mnemonic == "ret" || (mnemonic == "b" && !has(std::stoull(target, nullptr, 16)))))
      ends.push_back({offset});
  }
  EXPECT_FALSE(ends.empty()) << name;
  EXPECT_EQ(function.ends, ends) << name;
}

#if defined(__x86_64__)
// Executes play() of the file with a trap after each instruction.
class Steps {
 public:
  explicit Steps(const std::map<std::string, Function>& functions) {
    for (const auto& [name, function] : functions) {
      functions_.emplace(function.entry, &function);
      entered_[function.probed.offset] = 0;
    }
  }

  void run(const std::string& file) {
    void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << ::dlerror();
    const auto play = reinterpret_cast<void (*)()>(::dlsym(library, "play"));
    Dl_info info;
    ASSERT_NE(::dladdr(reinterpret_cast<void*>(play), &info), 0);
    base_ = reinterpret_cast<std::uint64_t>(info.dli_fbase);
    running_ = this;
    struct sigaction action {
    }, before{};
    action.sa_sigaction = on_trap;
    action.sa_flags = SA_SIGINFO;
    ::sigaction(SIGTRAP, &action, &before);
    ::raise(SIGTRAP);
    play();
    ::raise(SIGTRAP);
    ::sigaction(SIGTRAP, &before, nullptr);
    ::dlclose(library);
    for (const auto& [entry, function] : functions_)
      for (const FunctionEnd& end : function->ends)
        EXPECT_TRUE(passed_.contains(end.offset)) << "no call ends at " << std::hex << end.offset;
    for (const auto& [entry, function] : functions_)
      EXPECT_EQ(entered_.at(function->probed.offset), calls_of_[entry]) << std::hex << entry;
    EXPECT_GT(returned_, 100u);
    EXPECT_GT(left_, 1u);
  }

 private:
  static constexpr std::int64_t kTrapFlag = 0x100;
  static constexpr std::uint8_t kReturn = 0xc3;

  struct Call {
    const Function* function;
    std::uint64_t sp, returns_to;
    bool ended = false;
  };

  // A signal that was raised begins and ends it.
  static void on_trap(int, siginfo_t* what, void* context) {
    auto* const now = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    if (what->si_code == SI_TKILL)
      now[REG_EFL] ^= kTrapFlag;
    else
      running_->step(static_cast<std::uint64_t>(now[REG_RIP]),
                     static_cast<std::uint64_t>(now[REG_RSP]));
  }

  void step(std::uint64_t ip, std::uint64_t sp) {
    if (branch_) end_at_branch(ip);
    if (!calls_.empty() && sp == calls_.back().sp + 8 && ip == calls_.back().returns_to &&
        *at<std::uint8_t>(last_) == kReturn) {
      EXPECT_TRUE(calls_.back().ended) << std::hex << calls_.back().function->entry;
      calls_.pop_back();
      ++returned_;
    }
    last_ = ip;
    if (const auto probed = entered_.find(ip - base_); probed != entered_.end()) ++probed->second;
    if (const auto entered = functions_.find(ip - base_); entered != functions_.end())
      enter(*entered->second, sp);
    if (calls_.empty()) return;
    for (const FunctionEnd& end : calls_.back().function->ends)
      if (end.offset == ip - base_) reach(end, sp);
  }

  void enter(const Function& function, std::uint64_t sp) {
    for (; !calls_.empty() && calls_.back().sp <= sp; calls_.pop_back()) ++left_;  // by give_up()
    EXPECT_TRUE(calls_.empty() || !calls_.back().ended) << "calls after its end";
    ++calls_of_[function.entry];
    calls_.push_back({&function, sp, *at<std::uint64_t>(sp)});
  }

  void reach(const FunctionEnd& end, std::uint64_t sp) {
    EXPECT_EQ(sp + end.below, calls_.back().sp);
    if (end.condition == IOCX_END_ALWAYS)
      pass(end);
    else
      branch_ = &end;
  }

  // Of a branch the step after it says which way was taken, and its code whether that is an end.
  void end_at_branch(std::uint64_t next) {
    const FunctionEnd& end = *std::exchange(branch_, nullptr);
    const auto* const code = at<std::uint8_t>(base_ + end.offset);
    const bool is_long = code[0] == 0x0f;
    const bool taken = next != base_ + end.offset + (is_long ? 6 : 2);
    if (taken == ((code[is_long ? 1 : 0] & 0xf) == end.condition)) pass(end);
  }

  void pass(const FunctionEnd& end) {
    EXPECT_FALSE(calls_.back().ended) << "a second end: " << std::hex << end.offset;
    calls_.back().ended = true;
    passed_.insert(end.offset);
  }

  template <typename T>
  static const T* at(std::uint64_t address) {
    return reinterpret_cast<const T*>(address);
  }

  static inline Steps* running_ = nullptr;
  std::map<std::uint64_t, const Function*> functions_;       // by entry
  std::map<std::uint64_t, std::size_t> entered_, calls_of_;  // by where it is probed; by entry
  std::uint64_t base_ = 0, last_ = 0;
  std::vector<Call> calls_;
  const FunctionEnd* branch_ = nullptr;
  std::set<std::uint64_t> passed_;
  std::size_t returned_ = 0, left_ = 0;
};
#endif

TEST_P(CompiledEnds, AreAllFound) {
  const bool arm64 = std::get<0>(GetParam()).arm64;
  const std::string hardened = "-fstack-protector-strong -D_FORTIFY_SOURCE=2 ";
  for (const std::string& options :
       {std::string(), hardened + (arm64 ? "-mbranch-protection=standard" : "-fcf-protection"),
        std::string("-fno-omit-frame-pointer") + (arm64 ? "" : " -fcf-protection=full")}) {
    SCOPED_TRACE(options);
    for (auto& [name, function] : functions_) function = {};
    make(options);
    if (HasFailure()) return;
    if (arm64) {
      const std::string text = disassembly();
      for (const auto& [name, function] : functions_) compare_with(text, name, function);
      continue;
    }
#if defined(__x86_64__)
    Steps(functions_).run(file());
#endif
  }
}

std::string name_of(const ::testing::TestParamInfo<CompiledEnds::ParamType>& info) {
  const auto& [compiler, level] = info.param;
  std::string name = compiler.command + level;
  for (char& c : name)
    if (::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
}

// EPICS is built with -O2 or -O3, a site's own code with anything: the other levels are for a whole
// run.
std::vector<const char*> levels() {
  if (std::getenv("IOC_EXPORTER_WHOLE") != nullptr) return {"-O0", "-O1", "-O2", "-O3", "-Os"};
  return {"-O2", "-O3"};
}

INSTANTIATE_TEST_SUITE_P(ByCompilers, CompiledEnds,
                         ::testing::Combine(::testing::ValuesIn(compilers()),
                                            ::testing::ValuesIn(levels())),
                         name_of);

}  // namespace
}  // namespace ioc_exporter::elf
