#include "app/scraper.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace ioc_exporter::app {
namespace {

Snapshot one_ioc() {
  Snapshot snapshot;
  snapshot.iocs.resize(1);
  snapshot.iocs[0].name = std::string(1, 'i');
  snapshot.iocs[0].up = true;
  return snapshot;
}

web::Request asking(std::string accept, std::string accept_encoding = "") {
  web::Request request;
  request.method = "GET";
  request.accept = std::move(accept);
  request.accept_encoding = std::move(accept_encoding);
  return request;
}

TEST(Scraper, AnswersInTheFormThatIsAskedFor) {
  Scraper scraper(one_ioc);
  const web::Response text = scraper.answer(asking(""));
  EXPECT_EQ(text.status, 200);
  EXPECT_EQ(text.content_type, "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_EQ(text.content_encoding, "");
  EXPECT_EQ(text.vary, "Accept, Accept-Encoding");
  ASSERT_TRUE(text.shared_body);
  EXPECT_NE(text.shared_body->view().find("epics_ioc_up{ioc=\"i\"} 1\n"), std::string::npos);

  const web::Response other = scraper.answer(asking("application/openmetrics-text"));
  EXPECT_EQ(other.content_type, "application/openmetrics-text; version=1.0.0; charset=utf-8");
  EXPECT_TRUE(other.shared_body->view().ends_with("# EOF\n"));

  const web::Response packed = scraper.answer(asking("", "gzip"));
  EXPECT_EQ(packed.content_encoding, "gzip");
  EXPECT_TRUE(packed.shared_body->view().starts_with("\x1F\x8B"));
}

TEST(Scraper, EachScrapeTakesASnapshot) {
  int taken = 0;
  Scraper scraper([&taken] {
    ++taken;
    return one_ioc();
  });
  EXPECT_FALSE(scraper.answer(asking("")).shared_body->empty());
  EXPECT_FALSE(scraper.answer(asking("")).shared_body->empty());
  EXPECT_EQ(taken, 2);
  EXPECT_NE(scraper.text().find("epics_ioc_up{ioc=\"i\"} 1\n"), std::string::npos);
  EXPECT_EQ(taken, 3);
}

TEST(Scraper, AFailureReachesTheClientAndIsForgotten) {
  bool fails = true;
  Scraper scraper([&fails]() -> Snapshot {
    if (fails) throw std::runtime_error("no snapshot");
    return one_ioc();
  });
  EXPECT_THROW(scraper.answer(asking("")), std::runtime_error);
  fails = false;
  EXPECT_EQ(scraper.answer(asking("")).status, 200);
}

}  // namespace
}  // namespace ioc_exporter::app
