// Families about Channel Access beside puts: circuits and channels, clients, searches, beacons.
#pragma once

#include <vector>

#include "exposition/encoder.h"
#include "exposition/shared_families.h"
#include "puts/totals/samples.h"

namespace ioc_exporter::ca {

// All families of Channel Access, those of puts first. `put_edges`: of kPutScale. What PV Access
// has in the same families is added to `shared`.
void encode_ca(const CaSamples& samples, const exposition::HistogramEdges& put_edges,
               exposition::Encoder& encoder, exposition::SharedFamilies& shared);

// Samples of the same IOC, client or server are summed; series stand sorted by labels.
void encode_ca_servers(const std::vector<CaServerSample>& servers, exposition::Encoder& encoder);
void encode_ca_clients(const std::vector<CaClientSample>& clients, exposition::Encoder& encoder);
// Searches and beacons. The names that are searched are on the landing page only: they are bounded
// by nothing that this host's operators could change.
void encode_ca_network(const CaSamples& samples, exposition::Encoder& encoder);

}  // namespace ioc_exporter::ca
