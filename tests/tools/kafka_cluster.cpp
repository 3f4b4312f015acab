// A Kafka of one broker, by librdkafka's own mock cluster, with a topic of four partitions, and who
// reads it:
//
//   kafka_cluster TOPIC
//
// Its first line is where the broker is; each further one a message, as JSON. Lines of its input:
// "down" and "up" are the broker's, "refuse N" is what the next N requests to produce are told.
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <poll.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

namespace {

constexpr int kPartitions = 4, kBroker = 1;
constexpr std::int16_t kProduce = 0;  // of the protocol's requests

[[noreturn]] void fail(const std::string& why) {
  std::cerr << "kafka_cluster: " << why << '\n';
  std::exit(1);
}

rd_kafka_t* make(rd_kafka_type_t type, const char* brokers) {
  char problem[512];
  rd_kafka_conf_t* const conf = rd_kafka_conf_new();
  if (brokers != nullptr)
    for (const auto& [name, value] : {std::pair{"bootstrap.servers", brokers},
                                      {"group.id", "reader"},
                                      {"reconnect.backoff.max.ms", "200"},
                                      {"log_level", "0"}})
      if (rd_kafka_conf_set(conf, name, value, problem, sizeof problem) != RD_KAFKA_CONF_OK)
        fail(problem);
  rd_kafka_t* const made = rd_kafka_new(type, conf, problem, sizeof problem);
  if (made == nullptr) fail(problem);
  return made;
}

void tell(const rd_kafka_message_t& message) {
  const auto text = [](const void* bytes, std::size_t size) {
    return std::string(static_cast<const char*>(bytes), size);
  };
  nlohmann::json headers = nlohmann::json::object();
  rd_kafka_headers_t* list = nullptr;
  if (rd_kafka_message_headers(&message, &list) == RD_KAFKA_RESP_ERR_NO_ERROR) {
    const char* name = nullptr;
    const void* value = nullptr;
    std::size_t size = 0;
    for (std::size_t i = 0;
         rd_kafka_header_get_all(list, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR; ++i)
      headers[name] = text(value, size);
  }
  const nlohmann::json line{{"key", text(message.key, message.key_len)},
                            {"value", nlohmann::json::parse(text(message.payload, message.len))},
                            {"partition", message.partition},
                            {"time_ms", rd_kafka_message_timestamp(&message, nullptr)},
                            {"headers", headers}};
  std::cout << line.dump() << std::endl;
}

void obey(rd_kafka_mock_cluster_t* cluster, const std::string& line) {
  std::istringstream words(line);
  std::string what;
  unsigned count = 0;
  words >> what >> count;
  if (what == "down") rd_kafka_mock_broker_set_down(cluster, kBroker);
  if (what == "up") rd_kafka_mock_broker_set_up(cluster, kBroker);
  for (; what == "refuse" && count > 0; --count)
    rd_kafka_mock_push_request_errors(cluster, kProduce, 1, RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) fail("usage: kafka_cluster TOPIC");
  rd_kafka_t* const owner = make(RD_KAFKA_PRODUCER, nullptr);
  rd_kafka_mock_cluster_t* const cluster = rd_kafka_mock_cluster_new(owner, 1);
  if (cluster == nullptr) fail("no cluster");
  rd_kafka_mock_topic_create(cluster, arguments[1], kPartitions, 1);
  const char* const brokers = rd_kafka_mock_cluster_bootstraps(cluster);
  std::cout << brokers << std::endl;
  rd_kafka_t* const reader = make(RD_KAFKA_CONSUMER, brokers);
  rd_kafka_topic_partition_list_t* const all = rd_kafka_topic_partition_list_new(kPartitions);
  for (int i = 0; i < kPartitions; ++i)
    rd_kafka_topic_partition_list_add(all, arguments[1], i)->offset = RD_KAFKA_OFFSET_BEGINNING;
  if (rd_kafka_assign(reader, all) != RD_KAFKA_RESP_ERR_NO_ERROR) fail("no partitions");
  rd_kafka_poll_set_consumer(reader);
  for (std::string input;;) {
    if (rd_kafka_message_t* const message = rd_kafka_consumer_poll(reader, 20)) {
      if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) tell(*message);
      rd_kafka_message_destroy(message);
      continue;
    }
    pollfd entry{STDIN_FILENO, POLLIN, 0};
    if (::poll(&entry, 1, 0) <= 0) continue;
    char byte = 0;
    while (::read(STDIN_FILENO, &byte, 1) == 1 && byte != '\n') input += byte;
    if (input.empty()) std::_Exit(0);  // the end of its input
    obey(cluster, input);
    input.clear();
  }
}
