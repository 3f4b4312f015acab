// Families about Channel Access beside puts: circuits and channels, clients, searches, beacons.
#pragma once

#include <vector>

#include "metrics/encoder.h"
#include "probes/samples.h"

namespace ioc_exporter::metrics {

// Samples of the same IOC, client or server are summed; series stand sorted by labels.
void encode_ca_servers(const std::vector<CaServerSample>& servers, Encoder& encoder);
void encode_ca_clients(const std::vector<CaClientSample>& clients, Encoder& encoder);
// Searches and beacons. The names that are searched are on the landing page only: they are bounded
// by nothing that this host's operators could change.
void encode_ca_network(const Snapshot& snapshot, Encoder& encoder);

}  // namespace ioc_exporter::metrics
