#include "records/graph_svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "records/graph_dot.h"

namespace ioc_exporter::records {
namespace {

class Svg : public testing::Test {
 protected:
  void SetUp() override {
    if (!can_draw()) GTEST_SKIP() << "built without Graphviz";
  }
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

// Every text of the picture, decoded, in document order; fails where a tag is not closed.
std::vector<std::string> texts_of(const std::string& svg) {
  std::vector<std::string> texts, open;
  std::string content;
  for (std::size_t i = 0; i < svg.size();) {
    if (svg[i] != '<') {
      const std::size_t end = std::min(svg.find('<', i), svg.size());
      content = svg.substr(i, end - i);
      i = end;
      continue;
    }
    if (svg.compare(i, 4, "<!--") == 0) {
      i = svg.find("-->", i) + 3;
      continue;
    }
    const std::size_t end = svg.find('>', i);
    EXPECT_NE(end, std::string::npos);
    if (end == std::string::npos) break;
    const std::string tag = svg.substr(i + 1, end - i - 1);
    i = end + 1;
    if (tag.starts_with('/')) {
      EXPECT_FALSE(open.empty());
      EXPECT_EQ(tag.substr(1), open.empty() ? "" : open.back());
      if (tag == "/text") texts.push_back(content);
      if (!open.empty()) open.pop_back();
    } else if (!tag.ends_with('/')) {
      open.push_back(tag.substr(0, tag.find(' ')));
    }
    content.clear();
  }
  EXPECT_TRUE(open.empty());
  for (std::string& text : texts) {
    const std::pair<const char*, const char*> entities[] = {
        {"&lt;", "<"},  {"&gt;", ">"},   {"&quot;", "\""},  {"&#39;", "'"},
        {"&#45;", "-"}, {"&#160;", " "}, {"\xC2\xA0", " "}, {"&amp;", "&"}};
    for (const auto& [entity, character] : entities) text = replaced(text, entity, character);
  }
  return texts;
}

RecordGraph fan(std::size_t nodes) {
  RecordGraph graph;
  for (std::size_t i = 0; i < nodes; ++i) {
    graph.nodes.push_back({static_cast<std::uint32_t>(i), i > 0, false});
    if (i > 0) graph.edges.push_back({0, i, i * 23});
  }
  return graph;
}

TEST_F(Svg, ShowsNodesAndEdges) {
  const auto svg = draw_svg(to_dot(fan(2), {{"P:a", "calc", 46, 46'000}, {"P:b", "ao", 0, 0}}));
  ASSERT_TRUE(svg) << svg.error().message();
  EXPECT_TRUE(svg->starts_with("<svg "));
  EXPECT_THAT(texts_of(*svg),
              testing::UnorderedElementsAre("P:a", "calc", "46 ×, self 1 µs each", "46 µs in all",
                                            "P:b", "ao", "0 ×", "23"));
}

TEST_F(Svg, SaysWhatIsWrong) {
  const auto svg = draw_svg("digraph { a -> ");
  ASSERT_FALSE(svg);
  EXPECT_TRUE(svg.error().message().starts_with("read DOT text: ")) << svg.error().message();
  EXPECT_NE(svg.error().message().find("syntax error"), std::string::npos);
  EXPECT_TRUE(draw_svg("digraph { a }"));
}

// Names are whatever an IOC's memory holds: none may change the picture's structure.
TEST_F(Svg, AnyNameIsOnlyAName) {
  const std::string pieces[] = {"\"",   "\\", "\\n", "\\N", "<",       ">",     "&",  "]]>", "<!--",
                                "-->",  "\n", "'",   ";",   "}",       "{",     "|",  "%",   "#",
                                "\xB5", "µ",  "$(",  "\t",  "</text>", "<svg>", "->", "a",   "Z9"};
  std::mt19937 random(20260);  // NOLINT: the same names in each run
  for (int round = 0; round < 23; ++round) {
    const std::size_t count = 20;
    std::vector<GraphRecord> records(count);
    for (GraphRecord& record : records)
      while (record.name.size() < 3 || random() % 5 > 0)
        record.name += pieces[random() % std::size(pieces)];
    const auto svg = draw_svg(to_dot(fan(count), records));
    ASSERT_TRUE(svg) << svg.error().message();
    const auto texts = texts_of(*svg);
    ASSERT_EQ(texts.size(), 3 * count - 1);  // a name and a count for each node, one for each edge
    for (const GraphRecord& record : records) {
      // What is shown: the text with its escapes undone, and where several blanks stand for one.
      std::string shown = replaced(dot_text(record.name), "\\\\", "\x01");
      shown = replaced(replaced(replaced(shown, "\\\"", "\""), "\x01", "\\"), "&amp;", "&");
      EXPECT_THAT(texts, testing::Contains(shown));
    }
  }
}

TEST_F(Svg, TheLargestPictureIsDrawn) {
  const GraphLimits limits;
  std::vector<GraphLink> links;
  std::mt19937 random(20261);  // NOLINT: the same graph in each run
  for (std::uint32_t i = 0; i < 5000; ++i) {
    const auto source = static_cast<std::uint32_t>(random() % 400);
    links.push_back({source, static_cast<std::uint32_t>(random() % 400), random() % 997 + 1});
  }
  const RecordGraph graph = chain_of(links, 0, limits);
  ASSERT_EQ(graph.edges.size(), limits.edges);
  const std::vector<GraphRecord> records(graph.nodes.size(),
                                         {"SR:C01-MG:PS{Quad:A}I-SP", "calcout", 997, 1009});
  const auto svg = draw_svg(to_dot(graph, records));
  ASSERT_TRUE(svg) << svg.error().message();
  EXPECT_EQ(texts_of(*svg).size(), graph.nodes.size() * 4 + graph.edges.size());
}

TEST_F(Svg, ThreadsTakeTurns) {
  const std::string dot = to_dot(fan(7), std::vector<GraphRecord>(7, {"P:a", "calc", 1, 1}));
  std::vector<std::thread> threads;
  std::vector<std::string> pictures(5);
  for (std::string& picture : pictures)
    threads.emplace_back([&] {
      if (auto svg = draw_svg(dot)) picture = *svg;
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& picture : pictures) EXPECT_EQ(picture, pictures.front());
  EXPECT_FALSE(pictures.front().empty());
}

}  // namespace
}  // namespace ioc_exporter::records
