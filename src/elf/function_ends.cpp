#include "elf/function_ends.h"

#include <algorithm>
#include <set>

namespace ioc_exporter::elf {
namespace {

// State at an instruction: the stack pointer and the frame pointer, less the stack pointer at
// entry.
struct StackState {
  std::int64_t sp = 0;
  std::optional<std::int64_t> frame;

  bool operator==(const StackState&) const = default;
};

// How one instruction leads to another.
enum class Edge : std::uint8_t { next, after_call, jump, taken, not_taken };
struct Way {
  std::uint64_t from;
  Edge edge;
};

struct Node {
  Instruction instruction;
  StackState before;
  std::vector<Way> ways_here;
};

std::string at(std::uint64_t offset) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (; offset != 0; offset >>= 4) hex.insert(hex.begin(), kDigits[offset & 15]);
  return " at 0x" + (hex.empty() ? "0" : hex) + " of the file";
}

class Analysis {
 public:
  Analysis(std::span<const CodePart> parts, Decoder decoder) : parts_(parts), decoder_(decoder) {}

  Result<FunctionEnds> run(Work work, Places places) {
    std::size_t size = 0;
    for (const CodePart& part : parts_) size += part.bytes.size();
    if (size == 0 || size > kMostCode) return error_in_words("its code is missing or too long");
    if (auto ok = follow_code(); !ok) return ok.error();
    if (auto ok = find_ends(places); !ok) return ok.error();
    if (!does(work)) return error_in_words("it does its work after its last jump");
    if (places != Places::cheap && !leaves_.empty() && !does(Work::call))
      return error_in_words("another function does its work" + at(leaves_.begin()->first));
    return take();
  }

 private:
  const CodePart* part_of(std::uint64_t offset) const {
    for (const CodePart& part : parts_)
      if (offset >= part.offset && offset - part.offset < part.bytes.size()) return &part;
    return nullptr;
  }

  // Everything that can be reached from the entry, and the stack there.
  Result<void> follow_code() {
    reach(parts_[0].offset, {});
    while (!pending_.empty()) {
      const std::uint64_t offset = pending_.back();
      pending_.pop_back();
      if (auto ok = step(offset, nodes_.at(offset)); !ok) return ok;
    }
    for (const std::uint64_t offset : conflicts_)
      return error_in_words("the height of the stack depends on the way taken" + at(offset));
    return no_overlaps();
  }

  // An instruction within another one: no compiler writes that.
  Result<void> no_overlaps() const {
    std::uint64_t end = 0;
    for (const auto& [offset, node] : nodes_) {
      if (offset < end) return error_in_words("its instructions overlap" + at(offset));
      end = offset + node.instruction.size;
    }
    return {};
  }

  void reach(std::uint64_t offset, const StackState& state) {
    const auto [known, is_new] = nodes_.try_emplace(offset);
    StackState& before = known->second.before;
    if (is_new) {
      before = state;
      pending_.push_back(offset);
    } else if (before.sp != state.sp) {
      conflicts_.insert(offset);
    } else if (before.frame && before.frame != state.frame) {
      before.frame.reset();
      pending_.push_back(offset);
    }
  }

  Result<void> step(std::uint64_t offset, Node& node) {
    const CodePart* part = part_of(offset);
    const auto decoded = decoder_(part->bytes.subspan(offset - part->offset), offset);
    if (!decoded) return error_in_words("no instruction that is known" + at(offset));
    const bool again = node.instruction.size != 0;
    node.instruction = *decoded;
    StackState after = node.before;
    if (!apply(decoded->stack, after))
      return error_in_words("the height of the stack is not known" + at(offset));
    const auto lead = [&](std::uint64_t to, Edge edge) -> Result<void> {
      if (part_of(to) == nullptr) {
        if (edge != Edge::next && edge != Edge::not_taken) return leave({offset, edge}, node);
        return error_in_words("its code has no end" + at(offset));
      }
      reach(to, after);
      if (!again) nodes_.at(to).ways_here.push_back({offset, edge});
      return {};
    };
    const std::uint64_t next = offset + decoded->size;
    switch (decoded->flow) {
      case Flow::next:
        return lead(next, Edge::next);
      case Flow::jump:
        return lead(decoded->target, Edge::jump);
      case Flow::branch: {
        auto taken = lead(decoded->target, Edge::taken);
        return taken ? lead(next, Edge::not_taken) : taken;
      }
      case Flow::call:  // the last one of a part does not come back
        return part_of(next) == nullptr ? Result<void>() : lead(next, Edge::after_call);
      case Flow::ret:
        if (node.before.sp == 0) return {};
        return error_in_words("the stack is not as it was at the entry" + at(offset));
      case Flow::stop:
        return {};
      case Flow::unknown:
        break;
    }
    return error_in_words("it jumps to where only the program knows" + at(offset));
  }

  // A jump to another function, which returns in place of this one.
  Result<void> leave(const Way& way, const Node& node) {
    if (node.before.sp != 0 || !node.instruction.emulated)
      return error_in_words("it jumps to another function" + at(way.from));
    add_end(way, node.instruction);
    leaves_ = ends_;
    return {};
  }

  static bool apply(const StackEffect& effect, StackState& state) {
    using Kind = StackEffect::Kind;
    switch (effect.kind) {
      case Kind::none:
        return true;
      case Kind::move:
        state.sp += effect.by;
        break;
      case Kind::move_and_lose:
        state.sp += effect.by;
        state.frame.reset();
        break;
      case Kind::from_frame:
        if (!state.frame) return false;
        state.sp = *state.frame + effect.by;
        break;
      case Kind::leave:
        if (!state.frame) return false;
        state.sp = *state.frame + effect.by;
        state.frame.reset();
        break;
      case Kind::set_frame:
        state.frame = state.sp + effect.by;
        break;
      case Kind::lose_frame:
        state.frame.reset();
        break;
      case Kind::unknown:
        return false;
    }
    return state.sp <= 0 && state.sp > -std::int64_t{kMostCode};
  }

  Result<void> find_ends(Places places) {
    most_calls_ = places == Places::cheap ? 1 : 0;
    auto cheap = find_jumps();
    if (places == Places::cheap) return cheap;
    if (places == Places::with_result && !leaves_.empty())
      return error_in_words("what it returns is another function's" + at(leaves_.begin()->first));
    const bool is_set_later = std::ranges::any_of(
        tail_, [&](const auto& one) { return nodes_.at(one.first).instruction.sets_result; });
    const bool is_in_loop =
        std::ranges::any_of(ends_, [this](const auto& end) { return leads_to_itself(end.first); });
    if (cheap && !is_in_loop && !(places == Places::with_result && is_set_later)) return {};
    ends_ = leaves_;
    for (const auto& [offset, node] : nodes_)
      if (node.instruction.flow == Flow::ret) ends_.emplace(offset, IOCX_END_ALWAYS);
    return ends_.empty() ? cheap : Result<void>();
  }

  // A breakpoint there may be hit any number of times in one call.
  bool leads_to_itself(std::uint64_t offset) const {
    std::set<std::uint64_t> before;
    std::vector<std::uint64_t> pending{offset};
    while (!pending.empty()) {
      const Node& node = nodes_.at(pending.back());
      pending.pop_back();
      for (const Way& way : node.ways_here)
        if (before.insert(way.from).second) pending.push_back(way.from);
    }
    return before.contains(offset);
  }

  // Backwards from the returns to the jumps that lead to nothing else. On the way there may be one
  // call where cheap places are wanted, whose time then does not count: it is direct, and so it is
  // none of record support.
  Result<void> find_jumps() {
    for (const auto& [offset, node] : nodes_) {
      if (node.instruction.flow != Flow::ret) continue;
      if (node.instruction.emulated)
        ends_.emplace(offset, IOCX_END_ALWAYS);
      else
        add_to_tail(offset, 0);
    }
    if (tail_.empty() && ends_.empty()) return error_in_words("it never returns");
    while (!pending_.empty()) {
      const std::uint64_t offset = pending_.back();
      pending_.pop_back();
      if (offset == parts_[0].offset)
        return error_in_words("nothing marks its end, from its entry on");
      for (const Way& way : nodes_.at(offset).ways_here)
        if (auto ok = look_back(way, tail_.at(offset)); !ok) return ok;
    }
    return {};
  }

  Result<void> look_back(const Way& way, unsigned calls) {
    const Instruction& last = nodes_.at(way.from).instruction;
    if (way.edge == Edge::after_call) {
      // A function that calls itself does its work in that call.
      if (last.direct && calls < most_calls_ && part_of(last.target) == nullptr)
        add_to_tail(way.from, 1);
      else
        return error_in_words("nothing marks its end after the call" + at(way.from));
    } else if (last.emulated) {
      add_end(way, last);
    } else if (way.edge == Edge::taken || way.edge == Edge::not_taken) {
      return error_in_words("its end follows a branch that a breakpoint would slow down" +
                            at(way.from));
    } else {
      add_to_tail(way.from, calls);
    }
    return {};
  }

  void add_to_tail(std::uint64_t offset, unsigned calls) {
    const auto [known, is_new] = tail_.emplace(offset, calls);
    if (!is_new && known->second >= calls) return;
    known->second = calls;
    pending_.push_back(offset);
  }

  void add_end(const Way& way, const Instruction& last) {
    std::uint8_t condition = IOCX_END_ALWAYS;
    if (way.edge == Edge::taken) condition = last.condition;
    // The lowest bit turns a condition of x86 into its opposite.
    if (way.edge == Edge::not_taken && last.condition < IOCX_END_ALWAYS)
      condition = last.condition ^ 1;
    const auto [known, is_new] = ends_.emplace(way.from, condition);
    if (!is_new) known->second = IOCX_END_ALWAYS;  // both ways lead to a return
  }

  bool does(Work work) const {
    return work == Work::nothing || std::ranges::any_of(nodes_, [&](const auto& node) {
             const Instruction& instruction = node.second.instruction;
             return instruction.flow == Flow::call && !tail_.contains(node.first) &&
                    (work == Work::call || !instruction.direct);
           });
  }

  Result<FunctionEnds> take() const {
    FunctionEnds all;
    std::set<std::uint64_t> places;
    for (const auto& [offset, condition] : ends_) {
      const Node& node = nodes_.at(offset);
      all.push_back({offset, condition, static_cast<std::uint32_t>(-node.before.sp),
                     !node.instruction.emulated});
      if (!places.insert(offset & IOCX_END_PLACE_MASK).second)
        return error_in_words("two of its ends lie alike in their pages");
    }
    if (all.size() > IOCX_MOST_ENDS) return error_in_words("it has too many ends");
    return all;
  }

  std::span<const CodePart> parts_;
  Decoder decoder_;
  std::map<std::uint64_t, Node> nodes_;
  std::vector<std::uint64_t> pending_;
  std::set<std::uint64_t> conflicts_;
  std::map<std::uint64_t, unsigned> tail_;  // followed by a return alone: calls in it
  unsigned most_calls_ = 1;
  std::map<std::uint64_t, std::uint8_t> ends_;    // condition by offset
  std::map<std::uint64_t, std::uint8_t> leaves_;  // of them, jumps to other functions
};

}  // namespace

Result<FunctionEnds> find_function_ends(std::span<const CodePart> parts, Decoder decoder, Work work,
                                        Places places) {
  if (parts.empty()) return error_in_words("its code is missing or too long");
  return Analysis(parts, decoder).run(work, places);
}

iocx_function_ends for_programs(const FunctionEnds& ends) {
  iocx_function_ends made{};
  for (const FunctionEnd& end :
       std::span(ends).first(std::min<std::size_t>(ends.size(), IOCX_MOST_ENDS)))
    made.ends[made.count++] = {static_cast<std::uint16_t>(end.offset & IOCX_END_PLACE_MASK),
                               end.condition, 0, end.below};
  return made;
}

Decoder own_decoder() {
#if defined(__x86_64__)
  return decode_x86_64;
#else
  return decode_arm64;
#endif
}

namespace {

Result<std::string> read_code(int fd, std::uint64_t offset, std::uint64_t size) {
  if (size == 0 || size > kMostCode) return error_in_words("its code is missing or too long");
  std::string code(size, '\0');
  const ssize_t got = ::pread(fd, code.data(), size, static_cast<off_t>(offset));
  if (got < 0) return last_error("read its code");
  if (static_cast<std::uint64_t>(got) != size)
    return error_in_words("the file ends before its code");
  return code;
}

}  // namespace

Result<std::shared_ptr<const EndingFunction>> EndingFunction::find(int fd,
                                                                   std::span<const CodeRange> parts,
                                                                   Work work, Places places) {
  std::shared_ptr<EndingFunction> made(new EndingFunction);
  made->parts_.assign(parts.begin(), parts.end());
  std::vector<CodePart> code;
  for (const CodeRange& part : parts) {
    auto bytes = read_code(fd, part.file_offset, part.size);
    if (!bytes) return std::move(bytes).error();
    const std::string& kept = made->code_.emplace_back(std::move(*bytes));
    code.push_back(
        {part.file_offset, {reinterpret_cast<const std::uint8_t*>(kept.data()), kept.size()}});
  }
  auto ends = find_function_ends(code, own_decoder(), work, places);
  if (!ends) return std::move(ends).error();
  made->ends_ = std::move(*ends);
  return std::shared_ptr<const EndingFunction>(std::move(made));
}

Result<std::shared_ptr<const EndingFunction>> EndingFunction::find(
    const CodeFile& file, const std::map<std::string, CodeRange>& functions,
    const std::string& name, Work work, Places places) {
  std::vector<CodeRange> parts;
  if (const auto code = functions.find(name); code != functions.end()) {
    parts.push_back(code->second);
    if (const auto cold = functions.find(name + ".cold"); cold != functions.end())
      parts.push_back(cold->second);
  }
  return find(file.fd(), parts, work, places);
}

Result<void> EndingFunction::check(const CodeFile& file) const {
  std::size_t i = 0;
  for (const std::string& code : code_) {
    auto now = read_code(file.fd(), parts_[i++].file_offset, code.size());
    if (!now) return std::move(now).error();
    if (*now != code)
      return error_in_words("the file was changed since the ends of its functions were found");
  }
  return {};
}

}  // namespace ioc_exporter::elf
