// KafkaSink: a message for each entry, by librdkafka where this exporter is built with it: the PV
// is its key, so that puts to one PV stay in order, and the line of JSON its value; the IOC is a
// header.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "putlog/sink.h"

namespace ioc_exporter::putlog {

struct KafkaOptions {
  std::string brokers;  // "kafka1:9092,kafka2:9092"
  std::string topic;
  std::string config_file;  // of librdkafka's properties; "" = none
};

// "librdkafka 2.0.2"; "" = this exporter is built without.
std::string kafka_library();

// Lines "name=value", comments with #. Errors: with the file and the line.
Result<std::map<std::string, std::string>> read_kafka_properties(const std::string& path);

// To be called at the start: reads the properties and checks them, and looks brokers up. Connects
// with the first entry, in the thread that delivers. `name`: of the sink, for the log.
Result<std::unique_ptr<Sink>> make_kafka_sink(const std::string& name, const KafkaOptions& options);

}  // namespace ioc_exporter::putlog
