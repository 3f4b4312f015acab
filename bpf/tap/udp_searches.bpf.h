/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Counts searches by client, and by client and name. Part of tap/udp.bpf.c. Clients repeat a search, less and less often,
 * until they have a channel: tap/tap_channels.bpf.h notes that.
 */

static __always_inline void on_search(struct udp_work *w)
{
	struct iocx_ca_search *search;
	__u32 at = w->event.at;

	w->searches++;
	IOCX_CA_MASK(at, IOCX_CA_UDP_ROOM - 1);
	if (at > IOCX_CA_UDP_REACH + IOCX_CA_LONG_HEADER)
		return;
	if (iocx_ca_read_name((__u64 *)w->key.name, w->datagram.bytes + at, w->event.size))
		count_udp(IOCX_CA_UDP_DROP_NAME_CUT, 1);
	w->key.client = w->source;
	search = bpf_map_lookup_elem(&ca_searches, &w->key);
	if (!search) {
		w->search.first_ns = w->now;
		w->search.holder = iocx_ca_holder_of(&w->source, w->source_port);
		search = add_for_holder(&ca_searches, IOCX_CA_UDP_HELD_SEARCHES, &w->key, &w->search, w->search.holder);
	}
	if (!search) {
		count_udp(IOCX_CA_UDP_DROP_SEARCHES_FULL, 1);
		return;
	}
	if (search->found) { /* it has lost the channel */
		search->found = 0;
		search->requests = 0;
		search->first_ns = w->now;
	}
	__sync_fetch_and_add(&search->requests, 1);
	search->last_ns = w->now;
}

/* Counts the searches of a datagram for its client. */
static __always_inline void count_client(struct udp_work *w)
{
	struct iocx_ca_search_client key = {};
	struct iocx_ca_search_count fresh = {};
	struct iocx_ca_search_count *client;

	if (!w->searches)
		return;
	key.address = w->source;
	client = bpf_map_lookup_elem(&ca_search_clients, &key);
	if (!client)
		client = add_for_holder(&ca_search_clients, IOCX_CA_UDP_HELD_CLIENTS, &key, &fresh,
					iocx_ca_holder_of_network(&w->source));
	if (!client) {
		count_udp(IOCX_CA_UDP_DROP_CLIENTS_FULL, w->searches);
		return;
	}
	__sync_fetch_and_add(&client->requests, w->searches);
	client->last_ns = w->now;
}
