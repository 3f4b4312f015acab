// Numbers, labels and edges of histograms, as text.
#include <gmock/gmock.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/utf8.h"
#include "exposition/histogram_edges.h"
#include "exposition/label_text.h"
#include "exposition/number_text.h"
#include "support/snapshot.h"

namespace ioc_exporter::exposition {
namespace {

using namespace std::string_literals;

template <class Number>
std::string text(Number value) {
  std::string out;
  append_number(out, value);
  return out;
}

TEST(NumberText, CountsAreExactAndDoublesRoundTripInTheShortestForm) {
  EXPECT_EQ(text(std::uint64_t{0}), "0");
  EXPECT_EQ(text((std::uint64_t{1} << 53) + 1), "9007199254740993");
  EXPECT_EQ(text(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(text(0.1), "0.1");
  EXPECT_EQ(text(1.0), "1");
  EXPECT_EQ(text(-2.5), "-2.5");
  for (const double value : {1.0 / 3, 1e300, 5e-324, 1790000000.25, 9.5367431640625e-07})
    EXPECT_EQ(std::strtod(text(value).c_str(), nullptr), value);
  EXPECT_EQ(text(std::numeric_limits<double>::quiet_NaN()), "NaN");
  EXPECT_EQ(text(std::numeric_limits<double>::infinity()), "+Inf");
  EXPECT_EQ(text(-std::numeric_limits<double>::infinity()), "-Inf");
}

TEST(NumberText, NanosecondsToSeconds) {
  EXPECT_EQ(seconds_from_ns(0), 0.0);
  EXPECT_EQ(seconds_from_ns(1), 1e-9);
  EXPECT_EQ(seconds_from_ns(1'500'000'000), 1.5);
}

std::string label(std::string_view value) {
  std::string out;
  append_label_value(out, value);
  return out;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_sequence(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

TEST(LabelText, PlainNamesAndUtf8StayAsTheyAre) {
  for (const char* text :
       {"PS:Q1:SetCur.VAL$", "", "µA", "温度", "\U0001F600", "\xEF\xBF\xBF", "\xF4\x8F\xBF\xBF"})
    EXPECT_EQ(label(text), text);
}

TEST(LabelText, EscapesBackslashQuoteAndNewlineButHelpKeepsQuotes) {
  EXPECT_EQ(label("a\\b\"c\nd"), "a\\\\b\\\"c\\nd");
  std::string out;
  append_help(out, "a \"b\"\nc\\d");
  EXPECT_EQ(out, "a \"b\"\\nc\\\\d");
}

TEST(LabelText, InvalidBytesAreWrittenOut) {
  EXPECT_EQ(utf8_safe("a\xFFz"), "a\\xFFz");
  EXPECT_EQ(utf8_safe("\xC0\xAF"), "\\xC0\\xAF");                    // overlong
  EXPECT_EQ(utf8_safe("\xE0\x9F\xBF"), "\\xE0\\x9F\\xBF");           // overlong
  EXPECT_EQ(utf8_safe("\xED\xA0\x80"), "\\xED\\xA0\\x80");           // surrogate
  EXPECT_EQ(utf8_safe("\xF4\x90\x80\x80"), "\\xF4\\x90\\x80\\x80");  // above U+10FFFF
  EXPECT_EQ(utf8_safe("\xE6\xB8"), "\\xE6\\xB8");                    // cut short
  EXPECT_EQ(utf8_safe("\x80"), "\\x80");
  EXPECT_EQ(label("\xFF"), "\\\\xFF");  // the backslash is escaped in turn
}

TEST(LabelText, DifferentBytesNeverBecomeTheSameText) {
  const std::string parts[] = {"\\", "x", "FF",   "5C",   "\xFF",    "\"",
                               "\n", "n", "\xC3", "\xA9", "\xC3\xA9"};
  std::set<std::string> inputs;
  for (const auto& a : parts)
    for (const auto& b : parts)
      for (const auto& c : parts)
        for (const auto& d : parts) inputs.insert(a + b + c + d);
  std::set<std::string> safe, labels;
  for (const auto& input : inputs) {
    safe.insert(utf8_safe(input));
    labels.insert(label(input));
    EXPECT_TRUE(is_utf8(label(input)));
  }
  EXPECT_EQ(safe.size(), inputs.size());
  EXPECT_EQ(labels.size(), inputs.size());
}

TEST(LabelText, EveryPairOfBytesBecomesValidUtf8) {
  for (int a = 0; a < 256; ++a)
    for (int b = 0; b < 256; ++b) {
      const char bytes[] = {static_cast<char>(a), static_cast<char>(b)};
      EXPECT_TRUE(is_utf8(label({bytes, 2}))) << a << " " << b;
    }
}

TEST(HistogramEdges, PowersOfTwoAreExactAndTheOthersClose) {
  EXPECT_EQ(edge_seconds(-88), std::ldexp(1, -22));
  EXPECT_EQ(edge_seconds(-80), 9.5367431640625e-07);
  EXPECT_EQ(edge_seconds(0), 1.0);
  EXPECT_EQ(edge_seconds(8), 4.0);
  for (int k = kHistogramFirstK; k <= kHistogramLastK; ++k)
    EXPECT_DOUBLE_EQ(edge_seconds(k), std::pow(2.0, k / 4.0)) << k;
  EXPECT_EQ(edge_seconds(-1), 0.8408964152537144);  // as Prometheus has it
}

TEST(HistogramEdges, DefaultIsEveryFourthPowerOfTwo) {
  EXPECT_THAT(HistogramEdges().ks(), testing::ElementsAre(-80, -64, -48, -32, -16, 0));
}

TEST(HistogramEdges, StandAsFarApartAsWasAsked) {
  for (const EdgeStep step : {EdgeStep::by_2, EdgeStep::by_4, EdgeStep::by_16})
    for (const HistogramEdges& edges :
         {HistogramEdges(step), HistogramEdges::of_puts(step), HistogramEdges::of_scans(step)}) {
      const std::vector<int>& ks = edges.ks();
      ASSERT_EQ(ks.size(), 80 / static_cast<std::size_t>(step) + 1);
      EXPECT_EQ(ks.back() - ks.front(), 80) << "the same ends, however many are between";
      EXPECT_EQ(ks[1] - ks[0], static_cast<int>(step));
    }
}

TEST(HistogramEdges, PutsHaveTheirOwn) {
  EXPECT_THAT(HistogramEdges::of_puts().ks(), testing::ElementsAre(-56, -40, -24, -8, 8, 24));
  EXPECT_EQ(edge_seconds(24), 64.0);
  EXPECT_TRUE(HistogramEdges::from({kPutHistogramLastK}, kPutScale).ok());
  EXPECT_EQ(HistogramEdges::from({41}, kPutScale).error().message(),
            "histogram edge 41: not within -80 to 40");
}

TEST(HistogramEdges, TakesRisingNumbersWithinTheRangeAndRefusesTheRestInWords) {
  EXPECT_TRUE(HistogramEdges::from({kHistogramFirstK, 0, kHistogramLastK}).ok());
  EXPECT_TRUE(HistogramEdges::from({}).ok());
  EXPECT_EQ(HistogramEdges::from({0, 0}).error().message(), "histogram edge 0: given twice");
  EXPECT_EQ(HistogramEdges::from({0, -4}).error().message(),
            "histogram edge -4: stands after 0, edges must rise");
  EXPECT_EQ(HistogramEdges::from({9}).error().message(), "histogram edge 9: not within -88 to 8");
  EXPECT_EQ(HistogramEdges::from({-89}).error().message(),
            "histogram edge -89: not within -88 to 8");
}

}  // namespace
}  // namespace ioc_exporter::exposition
