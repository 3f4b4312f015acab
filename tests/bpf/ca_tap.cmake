# The Channel Access tap: on loopback, with raw sockets that play client and server, and with raw packets.
add_executable(bpf_ca_tap
  ${PROJECT_SOURCE_DIR}/tests/tools/lossy_link.cpp
  ca_tap_lossy_test.cpp
  ca_tap_messages_test.cpp
  ca_tap_pin_test.cpp
  ca_tap_seed_test.cpp
  ca_tap_candidate_test.cpp
  ca_tap_namespace_test.cpp
  ca_tap_packet_test.cpp
  ca_tap_stream_test.cpp
  ca_tap_test.cpp)
target_include_directories(bpf_ca_tap PRIVATE ${PROJECT_SOURCE_DIR}/tests)
target_link_libraries(bpf_ca_tap PRIVATE ioc_exporter_ca GTest::gtest GTest::gtest_main)
ioc_exporter_warnings(bpf_ca_tap)
gtest_discover_tests(bpf_ca_tap TEST_PREFIX bpf. DISCOVERY_TIMEOUT 60 PROPERTIES LABELS bpf TIMEOUT 120 COST 100)

# Connects network namespaces by a bad link, also by hand.
add_executable(lossy_forwarder ${PROJECT_SOURCE_DIR}/tests/tools/lossy_forwarder.cpp
  ${PROJECT_SOURCE_DIR}/tests/tools/lossy_link.cpp)
target_include_directories(lossy_forwarder PRIVATE ${PROJECT_SOURCE_DIR}/tests)
target_link_libraries(lossy_forwarder PRIVATE ioc_exporter_base Threads::Threads)
ioc_exporter_warnings(lossy_forwarder)
