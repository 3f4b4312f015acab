#include "functions/value.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include "base/ascii.h"
#include "base/utf8.h"

namespace ioc_exporter::functions {
namespace {

static_assert(sizeof(iocx_function_value) == 32 && offsetof(iocx_function_value, by) == 8);

constexpr std::size_t kMostSteps = 64, kMostWords = 64, kLongest = 1024;

struct NumberType {
  std::string_view name;
  std::uint32_t size;
  bool is_signed;
  Type type = Type::number;
};
constexpr std::array kNumbers = {NumberType{"int", 4, true},
                                 NumberType{"uint", 4, false},
                                 NumberType{"long", 8, true},
                                 NumberType{"ulong", 8, false},
                                 NumberType{"short", 2, true},
                                 NumberType{"ushort", 2, false},
                                 NumberType{"char", 1, true},
                                 NumberType{"uchar", 1, false},
                                 NumberType{"pointer", 8, false},
                                 NumberType{"float", 4, true, Type::real},
                                 NumberType{"double", 8, true, Type::real}};

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// A number with its base: 0x10 or 16.
std::optional<std::int64_t> number_in(std::string_view text) {
  const bool minus = text.starts_with('-');
  if (minus) text.remove_prefix(1);
  const int base = text.starts_with("0x") ? 16 : 10;
  if (base == 16) text.remove_prefix(2);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc{} || end != text.data() + text.size() || number < 0) return {};
  return minus ? -number : number;
}

// Recursive descent over "[[arg0-32]+16]": what is read is taken off the front.
class PlaceParser {
 public:
  PlaceParser(std::string_view text, Value& into) : left_(text), value_(into) {}

  Result<void> parse() {
    if (auto ok = sum(); !ok) return ok;
    skip();
    if (left_.empty()) return {};
    return error_in_words("\"" + std::string(left_) + "\" is more than was expected");
  }

 private:
  void skip() { left_ = trimmed(left_); }
  bool take(char c) {
    skip();
    if (!left_.starts_with(c)) return false;
    left_.remove_prefix(1);
    return true;
  }
  std::string_view word() {
    skip();
    const auto end =
        static_cast<std::size_t>(std::ranges::find_if_not(left_, is_name) - left_.begin());
    const std::string_view found = left_.substr(0, end);
    left_.remove_prefix(end);
    return found;
  }

  Result<void> sum() {
    if (auto ok = operand(); !ok) return ok;
    for (;;) {
      const bool minus = take('-');
      if (!minus && !take('+')) return {};
      const std::string_view text = word();
      const auto number = number_in(text);
      if (!number || *number > std::numeric_limits<std::int32_t>::max())
        return error_in_words("\"" + std::string(text) + "\" is no distance in bytes");
      add({Value::Step::Kind::add, minus ? -*number : *number});
    }
  }

  Result<void> operand() {
    if (depth_ + value_.steps.size() > kMostSteps) return error_in_words("too many [");
    if (take('[')) {
      ++depth_;
      if (auto ok = sum(); !ok) return ok;
      if (!take(']')) return error_in_words("a ] is missing");
      --depth_;
      add({Value::Step::Kind::load, 0});
      return {};
    }
    const std::string_view name = word();
    if (name.empty() || (name[0] >= '0' && name[0] <= '9'))
      return error_in_words("begins with \"" + std::string(name.empty() ? left_ : name) +
                            "\", not with arg0 to arg5, return or a name");
    value_.root = name == "this" ? "arg0" : name;
    if (name.starts_with("arg") && number_in(name.substr(3)) && !value_.from_argument())
      return error_in_words("there is no " + value_.root + ": only arg0 to arg5 are in registers");
    return {};
  }

  void add(Value::Step step) {
    auto& steps = value_.steps;
    if (step.kind == Value::Step::Kind::add && !steps.empty() &&
        steps.back().kind == Value::Step::Kind::add)
      steps.back().by += step.by;
    else
      steps.push_back(step);
  }

  std::string_view left_;
  Value& value_;
  std::size_t depth_ = 0;
};

// "success, timeout, overflow=5": each is one more than the one before.
Result<void> read_words(std::string_view list, Value& value) {
  std::int64_t next = 0;
  while (!list.empty()) {
    const auto comma = std::min(list.find(','), list.size());
    std::string_view item = trimmed(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
    if (const auto equals = item.find('='); equals != std::string_view::npos) {
      const auto number = number_in(trimmed(item.substr(equals + 1)));
      if (!number)
        return error_in_words("\"" + std::string(item) + "\" has no number behind the =");
      next = *number;
      item = trimmed(item.substr(0, equals));
    }
    if (!prints(item)) return error_in_words("an empty word, or one that does not print");
    if (!value.words.emplace(next, item).second)
      return error_in_words("two words for " + std::to_string(next));
    if (value.words.size() > kMostWords) return error_in_words("more than 64 words");
    ++next;
  }
  return value.words.empty() ? error_in_words("an enum without words") : Result<void>();
}

Result<void> read_type(std::string_view type, Value& value) {
  const auto is_number = std::ranges::find(kNumbers, type, &NumberType::name);
  if (is_number != kNumbers.end()) {
    value.type = is_number->type;
    value.size = is_number->size;
    value.is_signed = is_number->is_signed;
    return {};
  }
  const auto open = type.find('[');
  const std::string_view name = trimmed(type.substr(0, open));
  std::string_view inside;
  if (open != std::string_view::npos && type.ends_with(']'))
    inside = type.substr(open + 1, type.size() - open - 2);
  if (name == "string" && !inside.empty()) {
    const auto size = number_in(trimmed(inside));
    if (!size || *size < 2 || *size > 1024)
      return error_in_words("a string has 2 to 1024 bytes, not \"" + std::string(inside) + "\"");
    value.type = Type::text;
    value.size = static_cast<std::uint32_t>(*size);
    return {};
  }
  if (name == "enum" && !inside.empty()) {
    value.size = 4;
    value.is_signed = true;
    return read_words(inside, value);
  }
  if (name == "match" && !inside.empty()) {
    auto pattern = Pattern::compile(std::string(inside));
    if (!pattern) return pattern.error();
    if (pattern->groups() < 1) return error_in_words("the expression of match[] has no group ( )");
    value.match = std::move(*pattern);
    value.type = Type::symbol;
    return {};
  }
  return error_in_words("\"" + std::string(type) +
                        "\" is no type: int, uint, long, ulong, short, ushort, char, uchar, "
                        "pointer, float, double, string[N], enum[a, b=5, ...], match[(...)]");
}

// Loads of the steps, with the sum before each; the last is what comes behind them.
std::vector<std::int64_t> sums_of(const Value& value) {
  std::vector<std::int64_t> sums{0};
  for (const Value::Step& step : value.steps)
    if (step.kind == Value::Step::Kind::load)
      sums.push_back(0);
    else
      sums.back() += step.by;
  return sums;
}

// Whether a number is read from memory by its last load.
bool loads_number(const Value& value) {
  return value.type != Type::text && !value.steps.empty() &&
         value.steps.back().kind == Value::Step::Kind::load;
}

std::int64_t extended(const Value& value, std::uint64_t bits) {
  const unsigned unused = 64 - 8 * value.size;
  const std::uint64_t moved = bits << unused;
  return value.is_signed ? static_cast<std::int64_t>(moved) >> unused
                         : static_cast<std::int64_t>(moved >> unused);
}

// The bytes of up to `size` at the address, in the low ones.
Result<std::uint64_t> load(iocs::Memory& memory, std::uint64_t address, std::uint32_t size) {
  static_assert(std::endian::native == std::endian::little);
  std::uint64_t bits = 0;
  auto bytes = std::as_writable_bytes(std::span<std::uint64_t, 1>(&bits, 1));
  if (auto ok = memory.read(address, bytes.first(size)); !ok) return ok.error();
  return bits;
}

Result<std::string> text_at(iocs::Memory& memory, std::uint64_t address, std::uint32_t size) {
  std::string text(size, '\0');
  std::size_t got = 0;
  while (got < size && text.find('\0') >= got) {
    auto more =
        memory.read_some(address + got, std::as_writable_bytes(std::span(text)).subspan(got));
    if (!more) return more.error();
    if (std::memchr(text.data() + got, 0, *more) != nullptr) return text.substr(0, text.find('\0'));
    got += *more;
  }
  return error_in_words("the text at " + iocs::hex_address(address) + " does not end");
}

}  // namespace

bool prints(std::string_view text) {
  return !text.empty() && printable_utf8(text, text.size()) == text;
}

Result<Value> Value::parse_place(std::string_view text) {
  Value value;
  value.source = text;
  if (text.size() > kLongest) return error_in_words("longer than 1024 characters");
  if (auto ok = PlaceParser(text, value).parse(); !ok) return ok.error();
  return value;
}

Result<Value> Value::parse(std::string_view text) {
  const auto arrow = text.find("->");
  if (arrow == std::string_view::npos)
    return error_in_words("has no type: PLACE -> TYPE, as in arg1 -> int");
  auto value = parse_place(text.substr(0, arrow));
  if (!value) return value;
  value->source = text;
  if (auto ok = read_type(trimmed(text.substr(arrow + 2)), *value); !ok) return ok.error();
  if (value->from_symbol() != (value->type == Type::symbol))
    return error_in_words("symbol and match[] go together: symbol -> match[PREFIX(.*)]");
  return value;
}

bool Value::from_argument() const {
  return root.size() == 4 && root.starts_with("arg") && root[3] >= '0' &&
         root[3] < '0' + IOCX_FUNCTION_ARGUMENTS;
}

Result<iocx_function_value> Value::compiled() const {
  iocx_function_value out{};
  if (!from_argument() && !from_return())
    return error_in_words("begins with " + root +
                          ", which is no argument and not the return value");
  if (type == Type::real) return error_in_words("a call's floats are in no register that is read");
  if (type == Type::text && size > IOCX_FUNCTION_TEXT)
    return error_in_words("a text of a call has at most " + std::to_string(IOCX_FUNCTION_TEXT) +
                          " bytes");
  const auto sums = sums_of(*this);
  if (sums.size() > IOCX_FUNCTION_LOADS + 1)
    return error_in_words("follows more than " + std::to_string(IOCX_FUNCTION_LOADS) + " pointers");
  out.kind = type == Type::text ? IOCX_FUNCTION_STRING : IOCX_FUNCTION_NUMBER;
  out.root = from_return() ? IOCX_FUNCTION_RETURN : static_cast<std::uint8_t>(root[3] - '0');
  out.loads = static_cast<std::uint8_t>(sums.size() - 1);
  out.size = static_cast<std::uint8_t>(size);
  out.last_load = static_cast<std::uint8_t>(loads_number(*this) ? size : 8);
  out.is_signed = is_signed;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (sums[i] != static_cast<std::int32_t>(sums[i]))
      return error_in_words("too large a distance");
    out.by[i] = static_cast<std::int32_t>(sums[i]);
  }
  return out;
}

std::string Value::number_text(std::int64_t number) const {
  if (const auto word = words.find(number); word != words.end()) return word->second;
  return is_signed ? std::to_string(number) : std::to_string(static_cast<std::uint64_t>(number));
}

Result<std::uint64_t> place_of(const Value& value, const Roots& roots, iocs::Memory& memory) {
  const auto root = roots(value.root);
  if (!root) return error_in_words("there is no " + value.root);
  std::uint64_t at = *root;
  for (std::size_t i = 0; i < value.steps.size(); ++i) {
    const Value::Step& step = value.steps[i];
    if (step.kind == Value::Step::Kind::add) {
      at += static_cast<std::uint64_t>(step.by);
      continue;
    }
    const bool last = i + 1 == value.steps.size() && loads_number(value);
    auto loaded = load(memory, at, last ? value.size : 8);
    if (!loaded) return loaded;
    at = *loaded;
  }
  return at;
}

bool leads_nowhere(const Value& value, const Roots& roots, iocs::Memory& memory) {
  const auto root = roots(value.root);
  if (!root || value.steps.size() < 2 || value.steps[0].kind == Value::Step::Kind::add)
    return false;
  const auto at = load(memory, *root, 8);
  return at && *at == 0;
}

Result<Evaluated> evaluate(const Value& value, const Roots& roots, iocs::Memory& memory) {
  const auto at = place_of(value, roots, memory);
  if (!at) return at.error();
  Evaluated result{.text = {}, .bits = *at};
  if (value.type == Type::text) {
    auto text = text_at(memory, *at, value.size);
    if (!text) return text.error();
    if (!text->empty() && !prints(*text))
      return error_in_words("the text at " + iocs::hex_address(*at) + " does not print");
    result.text = std::move(*text);
  } else if (value.type == Type::real) {
    result.number = value.size == 4
                        ? static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(*at)))
                        : std::bit_cast<double>(*at);
  } else {
    const std::int64_t number = extended(value, *at);
    result.text = value.number_text(number);
    result.number = value.is_signed ? static_cast<double>(number)
                                    : static_cast<double>(static_cast<std::uint64_t>(number));
  }
  return result;
}

}  // namespace ioc_exporter::functions
