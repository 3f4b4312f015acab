// What is told at the start; what is sent is tested end to end (test_putlog_kafka.py).
#include "putlog/kafka_sink.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace ioc_exporter::putlog {
namespace {

class KafkaTest : public testing::Test {
 protected:
  KafkaTest() {
    std::string name = testing::TempDir() + "kafka.XXXXXX";
    folder_ = ::mkdtemp(name.data());
    path_ = folder_ + "/properties";
  }
  ~KafkaTest() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& text) const { std::ofstream(path_) << text; }
  // "" = it was made.
  std::string problem(const std::string& brokers = "127.0.0.1:9") const {
    const auto sink = make_kafka_sink("k", {brokers, "puts", path_});
    return sink ? "" : sink.error().message();
  }

  std::string folder_, path_;
};

TEST_F(KafkaTest, PropertiesAreLines) {
  write("# of the site\n\n acks = all \r\nsasl.password=a=b#c\n");
  const auto read = read_kafka_properties(path_);
  ASSERT_TRUE(read);
  EXPECT_EQ(*read,
            (std::map<std::string, std::string>{{"acks", "all"}, {"sasl.password", "a=b#c"}}));
  EXPECT_TRUE(read_kafka_properties("")->empty());
  EXPECT_FALSE(read_kafka_properties(folder_ + "/none"));
}

TEST_F(KafkaTest, ALineThatIsNoneIsToldWithoutItsWords) {
  write("acks=all\nmysecret\n");
  const auto read = read_kafka_properties(path_);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message().find("line 2"), std::string::npos);
  EXPECT_EQ(read.error().message().find("mysecret"), std::string::npos);
}

TEST_F(KafkaTest, WhatIsWrongIsToldAtTheStart) {
  if (kafka_library().empty()) {
    EXPECT_NE(problem().find("built without Kafka"), std::string::npos);
    return;
  }
  write("acks=all\n");
  EXPECT_EQ(problem(), "");
  EXPECT_EQ(problem("127.0.0.1:9,[::1]:9"), "");
  EXPECT_NE(problem("localhost").find("no HOST:PORT"), std::string::npos);
  for (const char* wrong :
       {"no.such=1", "acks=many", "plugin.library.paths=/tmp/x.so", "sasl.kerberos.kinit.cmd=sh"}) {
    write(std::string(wrong) + "\n");
    EXPECT_NE(problem().find("Kafka's property"), std::string::npos) << wrong << ": " << problem();
  }
}

}  // namespace
}  // namespace ioc_exporter::putlog
