// Formats of answers.
#include <gtest/gtest.h>
#include <zstd.h>

#include <utility>
#include <vector>

#include "inflate.h"
#include "web/compression.h"
#include "web/scraper.h"

namespace ioc_exporter::web {
namespace {

TEST(BestFormat, IsWhatIsAskedForAndTextOtherwise) {
  const std::pair<ScrapeFormat, std::vector<const char*>> rows[] = {
      {ScrapeFormat::text,
       {"", "*/*", "text/plain", "text/plain;version=0.0.4", "TEXT/Plain; Version=\"0.0.4\"",
        "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "application/json",
        "text/plain;version=1.0.0", "application/openmetrics-text;version=0.0.1",
        "application/openmetrics-text;version=1.0.0;q=0", "application/vnd.google.protobuf",
        "application/vnd.google.protobuf;proto=some.other.Message;encoding=delimited",
        "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=text",
        "text/plain;version=0.0.4,application/openmetrics-text;version=1.0.0",
        "application/openmetrics-text;q=x,text/*;q=0.1", ",;,=;q"}},
      // Accept headers of Prometheus 2.42 and 3.5, and of Python's prometheus_client.
      {ScrapeFormat::openmetrics,
       {"application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;"
        "q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
        "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/"
        "openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,"
        "text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
        "application/openmetrics-text; version=1.0.0; charset=utf-8",
        "text/plain;version=0.0.4;q=0.5,application/openmetrics-text",
        "application/openmetrics-text;version=\"1.0.0\""}},
      // Of Prometheus with native histograms.
      {ScrapeFormat::protobuf,
       {"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding="
        "delimited,application/openmetrics-text;version=1.0.0;q=0.8,application/openmetrics-text;"
        "version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
        "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"
        ";q=0.6,application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,*/*;q=0.2",
        "Application/Vnd.Google.Protobuf ; Proto=io.prometheus.client.MetricFamily"}}};
  for (const auto& [format, headers] : rows)
    for (const char* accept : headers) EXPECT_EQ(best_format(accept), format) << accept;
}

// The two of text: scraper_test.cpp.
TEST(MakeEncoder, NamesItsFormatAsPrometheusWantsIt) {
  EXPECT_EQ(make_encoder(ScrapeFormat::protobuf)->content_type(),
            "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; "
            "encoding=delimited");
}

TEST(BestCoding, IsWhatIsWantedMostAndNoneWhereAllIsRefusedOrUnknown) {
  const std::pair<Coding, std::vector<const char*>> rows[] = {
      {Coding::gzip,
       {"gzip", "GZIP", "deflate, gzip", "gzip;q=0.5", "br;q=1, gzip ; q = 0.1", "x-gzip", "*",
        "identity;q=0, *;q=0.5", "gzip;q=1.000", "gzip;level=9;q=1", "zstd;q=0.5, gzip;q=0.8",
        "gzip, zstd;q=0"}},
      {Coding::zstd,
       {"zstd", "gzip, deflate, br, zstd", "gzip;q=0.5, ZSTD;q=0.5", "identity;q=0.1,zstd;q=0.2",
        "gzip;q=0, zstd"}},  // wanted as much
      {Coding::identity,
       {"", "identity", "deflate", "gzip;q=0", "gzip;q=0.000", "*;q=0", "gzip;q=x",
        "gzip;q=", "gzip;q=0, *", "gzipped", ",;,", "*;q=0, deflate", "identity, gzip;q=0.5",
        "zstd;q=0", "gzip;q=-1", "gzip;q=nan"}}};
  for (const auto& [coding, headers] : rows)
    for (const char* header : headers) EXPECT_EQ(best_coding(header), coding) << header;
}

std::string squares_text() {
  std::string text;
  for (long i = 0; i < 50000; ++i) text.append("line ").append(std::to_string(i * i)).append("\n");
  return text;
}

std::string decompressed_zstd(std::string_view packed) {
  std::string out(ZSTD_getFrameContentSize(packed.data(), packed.size()), '\0');
  out.resize(ZSTD_decompress(out.data(), out.size(), packed.data(), packed.size()));
  return out;
}

TEST(Compress, GivesBackTheSameBytes) {
  for (const std::string& body :
       {std::string(), std::string("x"), squares_text(), std::string("\0\xFF", 2)}) {
    const auto gzipped = compress(body, Coding::gzip);
    ASSERT_TRUE(gzipped.has_value());
    EXPECT_EQ(inflated(std::string(gzipped->view())), body);
    const auto zstd = compress(body, Coding::zstd);
    ASSERT_TRUE(zstd.has_value());
    EXPECT_EQ(decompressed_zstd(zstd->view()), body);
  }
  const std::string text = squares_text();
  EXPECT_LT(compress(text, Coding::gzip)->size(), text.size() / 2);
  EXPECT_LT(compress(text, Coding::zstd)->size(), text.size() / 2);
  EXPECT_FALSE(compress(text, Coding::identity).has_value());
}

}  // namespace
}  // namespace ioc_exporter::web
