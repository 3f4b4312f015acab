# Datagrams of Channel Access, in network namespaces that the tests make.
add_executable(bpf_ca_udp ca_udp_test.cpp ca_udp_devices_test.cpp)
target_include_directories(bpf_ca_udp PRIVATE ${PROJECT_SOURCE_DIR}/tests)
target_link_libraries(bpf_ca_udp PRIVATE ioc_exporter_ca GTest::gtest GTest::gtest_main)
ioc_exporter_warnings(bpf_ca_udp)
gtest_discover_tests(bpf_ca_udp TEST_PREFIX bpf. DISCOVERY_TIMEOUT 60 PROPERTIES LABELS bpf TIMEOUT 120 COST 100)
