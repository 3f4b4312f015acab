#include "web/scraper.h"

#include <gtest/gtest.h>

namespace ioc_exporter::web {
namespace {

TEST(BestFormat, IsTextWhereNothingBetterIsAskedFor) {
  for (const char* accept :
       {"", "*/*", "text/plain", "text/plain;version=0.0.4", "TEXT/Plain; Version=\"0.0.4\"",
        "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "application/json",
        "text/plain;version=1.0.0", "application/openmetrics-text;version=0.0.1",
        "application/openmetrics-text;version=1.0.0;q=0", "application/vnd.google.protobuf",
        "application/vnd.google.protobuf;proto=some.other.Message;encoding=delimited",
        "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=text",
        "text/plain;version=0.0.4,application/openmetrics-text;version=1.0.0",
        "application/openmetrics-text;q=x,text/*;q=0.1", ",;,=;q"})
    EXPECT_EQ(best_format(accept), ScrapeFormat::text) << accept;
}

// What Prometheus 2.42 and 3.5 send, and Python's prometheus_client.
TEST(BestFormat, IsOpenMetricsForPrometheus) {
  for (const char* accept :
       {"application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;"
        "q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
        "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/"
        "openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,"
        "text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
        "application/openmetrics-text; version=1.0.0; charset=utf-8",
        "text/plain;version=0.0.4;q=0.5,application/openmetrics-text",
        "application/openmetrics-text;version=\"1.0.0\""})
    EXPECT_EQ(best_format(accept), ScrapeFormat::openmetrics) << accept;
}

TEST(BestFormat, IsProtobufForPrometheusWithNativeHistograms) {
  for (const char* accept :
       {"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding="
        "delimited,application/openmetrics-text;version=1.0.0;q=0.8,application/openmetrics-text;"
        "version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
        "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"
        ";q=0.6,application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,*/*;q=0.2",
        "Application/Vnd.Google.Protobuf ; Proto=io.prometheus.client.MetricFamily"})
    EXPECT_EQ(best_format(accept), ScrapeFormat::protobuf) << accept;
}

TEST(MakeEncoder, NamesItsFormatAsPrometheusWantsIt) {
  EXPECT_EQ(make_encoder(ScrapeFormat::text)->content_type(),
            "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_EQ(make_encoder(ScrapeFormat::openmetrics)->content_type(),
            "application/openmetrics-text; version=1.0.0; charset=utf-8");
  EXPECT_EQ(make_encoder(ScrapeFormat::protobuf)->content_type(),
            "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; "
            "encoding=delimited");
}

}  // namespace
}  // namespace ioc_exporter::web
