#include "ca/candidates.h"

#include <gtest/gtest.h>

namespace {

using namespace ioc_exporter;
using ca::CaCandidates;

iocx_ca_flow followed(std::uint64_t circuit, bool client, bool server) {
  iocx_ca_flow flow{};
  flow.circuit = circuit;
  flow.directions[IOCX_CA_TO_SERVER].stream.begins_ca = client;
  flow.directions[IOCX_CA_TO_CLIENT].stream.begins_ca = server;
  return flow;
}

iocx_ca_flow joined(std::uint64_t circuit, std::uint32_t next, std::uint8_t to_server,
                    std::uint8_t to_client) {
  iocx_ca_flow flow{};
  flow.circuit = circuit;
  flow.joined = 1;
  for (auto& direction : flow.directions) {
    direction.next = next;
    direction.next_known = 1;
  }
  flow.directions[IOCX_CA_TO_SERVER].stream.sync = to_server;
  flow.directions[IOCX_CA_TO_CLIENT].stream.sync = to_client;
  return flow;
}

// Of one server after a look at these connections; nothing: not settled.
std::optional<bool> look(CaCandidates& candidates, const std::vector<iocx_ca_flow>& flows) {
  candidates.begin_look();
  for (const auto& flow : flows) candidates.see({{}, 5064, 0, 0}, flow);
  candidates.end_look();
  const auto verdicts = candidates.take();
  EXPECT_LE(verdicts.size(), 1u);
  if (verdicts.empty()) return std::nullopt;
  EXPECT_EQ(verdicts[0].server.port, 5064);
  EXPECT_EQ(verdicts[0].server.ioc, ca::kCaCandidate);
  return verdicts[0].speaks_ca;
}

TEST(CaCandidates, BothEndsMustBeginWithVersion) {
  CaCandidates candidates;
  EXPECT_EQ(look(candidates, {}), std::nullopt);
  EXPECT_EQ(look(candidates, {followed(1, true, false)}), std::nullopt);
  EXPECT_EQ(look(candidates, {followed(1, false, true)}), std::nullopt);
  EXPECT_EQ(look(candidates, {followed(1, true, true)}), true);
  auto other = followed(1, true, false);
  other.not_ca = 1;
  EXPECT_EQ(look(candidates, {other}), false);
}

TEST(CaCandidates, OneThatSpeaksIsEnough) {
  CaCandidates candidates;
  auto other = followed(1, false, false);
  other.not_ca = 1;
  EXPECT_EQ(look(candidates, {other, followed(2, true, true)}), true);
  EXPECT_EQ(look(candidates, {followed(2, true, true), other}), true);
}

TEST(CaCandidates, JoinedConnectionsTellByTheirBoundaries) {
  CaCandidates candidates;
  EXPECT_EQ(look(candidates, {joined(1, 100, IOCX_CA_LOST, IOCX_CA_REGAINED)}), std::nullopt);
  EXPECT_EQ(look(candidates, {joined(1, 100, IOCX_CA_REGAINED, IOCX_CA_REGAINED)}), true);
}

TEST(CaCandidates, OnlyNewDataWithoutBoundariesTells) {
  CaCandidates candidates;
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(look(candidates, {joined(1, 100, IOCX_CA_LOST, IOCX_CA_LOST)}), std::nullopt);
  EXPECT_EQ(look(candidates, {joined(1, 200, IOCX_CA_LOST, IOCX_CA_LOST)}), std::nullopt);
  EXPECT_EQ(look(candidates, {joined(1, 300, IOCX_CA_LOST, IOCX_CA_LOST)}), false);
}

TEST(CaCandidates, ConnectionsThatAreGoneAreForgotten) {
  CaCandidates candidates;
  for (std::uint32_t next : {100u, 200u})
    EXPECT_EQ(look(candidates, {joined(1, next, IOCX_CA_LOST, IOCX_CA_LOST)}), std::nullopt);
  EXPECT_EQ(look(candidates, {}), std::nullopt);
  EXPECT_EQ(look(candidates, {joined(1, 300, IOCX_CA_LOST, IOCX_CA_LOST)}), std::nullopt);
}

}  // namespace
