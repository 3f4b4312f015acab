#include "base/option_value.h"

#include <sstream>

#include "base/duration.h"

namespace ioc_exporter {
namespace {

using std::chrono::milliseconds;

constexpr const char* kDuration = "a duration such as 90s";

std::string joined(const std::vector<std::string>& words, const char* between) {
  std::string all;
  for (const std::string& word : words) all.append(all.empty() ? "" : between).append(word);
  return all;
}

}  // namespace

OptionValue on_off(bool& into) {
  return {.takes = OptionValue::Takes::nothing,
          .default_text = into ? "on" : "",
          .expected = "true or false",
          .set = [&into](const std::string& word, bool) -> Result<void> {
            if (word != "true" && word != "false")
              return error_in_words(shown(word) + " is neither true nor false");
            into = word == "true";
            return {};
          }};
}

OptionValue number(double& into, double least, double most) {
  std::ostringstream text;
  text << into;
  return {.default_text = text.str(),
          .expected = "a number",
          .set = [&into, least, most](const std::string& word, bool) -> Result<void> {
            auto number = parse_number(word, least, most);
            if (!number) return number.error();
            into = *number;
            return {};
          }};
}

OptionValue bytes(std::uint64_t& into) {
  return {.default_text = bytes_text(into),
          .expected = "a size such as 512MiB",
          .set = [&into](const std::string& word, bool) -> Result<void> {
            auto size = parse_bytes(word);
            if (!size) return size.error();
            into = *size;
            return {};
          }};
}

OptionValue duration(milliseconds& into, milliseconds least) {
  return {.default_text = duration_text(into),
          .expected = kDuration,
          .set = [&into, least](const std::string& word, bool) -> Result<void> {
            auto duration = parse_duration(word);
            if (!duration) return duration.error();
            if (*duration < least)
              return error_in_words("must be at least " + duration_text(least));
            into = *duration;
            return {};
          }};
}

OptionValue duration(std::optional<milliseconds>& into) {
  return {.expected = kDuration, .set = [&into](const std::string& word, bool) -> Result<void> {
            auto duration = parse_duration(word);
            if (!duration) return duration.error();
            into = *duration;
            return {};
          }};
}

OptionValue text(std::string& into, TextCheck check) {
  return {.default_text = into,
          .set = [&into, check = std::move(check)](const std::string& word, bool) -> Result<void> {
            if (check)
              if (auto good = check(word); !good) return good;
            into = word;
            return {};
          }};
}

OptionValue texts(std::vector<std::string>& into, TextCheck check) {
  return {.takes = OptionValue::Takes::several,
          .default_text = joined(into, ","),
          .set = [&into, check = std::move(check)](const std::string& word,
                                                   bool first) -> Result<void> {
            if (check)
              if (auto good = check(word); !good) return good;
            if (first) into.clear();
            into.push_back(word);
            return {};
          }};
}

OptionValue pattern(std::optional<Pattern>& into) {
  return {.expected = "a regular expression",
          .set = [&into](const std::string& word, bool) -> Result<void> {
            into.reset();
            if (word.empty()) return {};
            auto compiled = Pattern::compile(word);
            if (!compiled) return compiled.error();
            into = std::move(*compiled);
            return {};
          }};
}

Error none_of(const std::string& word, const std::vector<std::string>& choices) {
  return error_in_words(shown(word) + " is none of " + joined(choices, ", "));
}

}  // namespace ioc_exporter
