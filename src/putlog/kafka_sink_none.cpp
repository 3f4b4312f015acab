// A build without librdkafka, such as the static one.
#ifndef IOC_EXPORTER_KAFKA

#include "putlog/kafka_sink.h"

namespace ioc_exporter::putlog {

std::string kafka_library() {
  return "";
}

Result<std::unique_ptr<Sink>> make_kafka_sink(const std::string& name, const KafkaOptions&) {
  return error_in_words("put log: " + name +
                        ": this ioc_exporter is built without Kafka (librdkafka)");
}

}  // namespace ioc_exporter::putlog

#endif
