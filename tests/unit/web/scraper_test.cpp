#include "web/scraper.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace ioc_exporter::web {
namespace {

void one_ioc(exposition::Encoder& encoder) {
  encoder.begin_family({"epics_ioc_up", exposition::FamilyType::gauge, "Whether the IOC runs."});
  encoder.count(encoder.labels({{"ioc", "i"}}), 1);
}

Request asking(std::string accept, std::string accept_encoding = "") {
  Request request;
  request.method = "GET";
  request.accept = std::move(accept);
  request.accept_encoding = std::move(accept_encoding);
  return request;
}

TEST(Scraper, AnswersInTheFormThatIsAskedFor) {
  Scraper scraper(one_ioc);
  const Response text = scraper.answer(asking(""));
  EXPECT_EQ(text.status, 200);
  EXPECT_EQ(text.content_type, "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_EQ(text.content_encoding, "");
  EXPECT_EQ(text.vary, "Accept, Accept-Encoding");
  ASSERT_TRUE(text.shared_body);
  EXPECT_NE(text.shared_body->view().find("epics_ioc_up{ioc=\"i\"} 1\n"), std::string::npos);

  const Response other = scraper.answer(asking("application/openmetrics-text"));
  EXPECT_EQ(other.content_type, "application/openmetrics-text; version=1.0.0; charset=utf-8");
  EXPECT_TRUE(other.shared_body->view().ends_with("# EOF\n"));

  const Response packed = scraper.answer(asking("", "gzip"));
  EXPECT_EQ(packed.content_encoding, "gzip");
  EXPECT_TRUE(packed.shared_body->view().starts_with("\x1F\x8B"));
}

TEST(Scraper, EachScrapeIsMadeAnew) {
  int taken = 0;
  Scraper scraper([&taken](exposition::Encoder& encoder) {
    ++taken;
    return one_ioc(encoder);
  });
  EXPECT_FALSE(scraper.answer(asking("")).shared_body->empty());
  EXPECT_FALSE(scraper.answer(asking("")).shared_body->empty());
  EXPECT_EQ(taken, 2);
  EXPECT_NE(scraper.text().find("epics_ioc_up{ioc=\"i\"} 1\n"), std::string::npos);
  EXPECT_EQ(taken, 3);
}

TEST(Scraper, AFailureReachesTheClientAndIsForgotten) {
  bool fails = true;
  Scraper scraper([&fails](exposition::Encoder& encoder) {
    if (fails) throw std::runtime_error("no families");
    return one_ioc(encoder);
  });
  EXPECT_THROW(scraper.answer(asking("")), std::runtime_error);
  fails = false;
  EXPECT_EQ(scraper.answer(asking("")).status, 200);
}

}  // namespace
}  // namespace ioc_exporter::web
