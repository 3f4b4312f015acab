/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Counts searches by client, and keeps those that are not answered. Part of tap/udp.bpf.c.
 *
 * A search stands in ca_searches until it is answered. Clients repeat a search, less and less often, until a server
 * answers: an entry with many requests is a name that no server has.
 */

static __always_inline int same_name(const struct iocx_ca_search *search, const __u64 *name)
{
	const __u64 *words = (const __u64 *)search->name;
	__u64 differ = 0;

#pragma unroll
	for (__u32 i = 0; i < IOCX_CA_SEARCHED_NAME / 8; i++)
		differ |= words[i] ^ name[i];
	return !differ;
}

static __always_inline void on_search(struct udp_work *w)
{
	struct iocx_ca_search *search;
	__u32 at = w->event.at;

	w->searches++;
	IOCX_CA_MASK(at, IOCX_CA_UDP_ROOM - 1);
	if (at > IOCX_CA_UDP_REACH + IOCX_CA_LONG_HEADER)
		return;
	if (iocx_ca_read_name((__u64 *)w->search.name, w->datagram.bytes + at, w->event.size))
		count_udp(IOCX_CA_UDP_DROP_NAME_CUT, 1);
	w->key.client = w->source;
	w->key.cid = w->event.id;
	w->key.port = w->source_port;
	w->search.requests = 0;
	w->search.first_ns = w->now;
	w->search.last_ns = w->now;
	search = bpf_map_lookup_elem(&ca_searches, &w->key);
	if (!search) {
		search = add_for_holder(&ca_searches, IOCX_CA_UDP_HELD_SEARCHES, &w->key, &w->search,
					iocx_ca_holder_of(&w->source, w->source_port));
		if (!search) {
			count_udp(IOCX_CA_UDP_DROP_SEARCHES_FULL, 1);
			return;
		}
	}
	if (same_name(search, (const __u64 *)w->search.name)) {
		__sync_fetch_and_add(&search->requests, 1);
		search->last_ns = w->now;
		return;
	}
	/* Another client uses the port now, or the client uses the CID again. */
	w->search.requests = 1;
	bpf_map_update_elem(&ca_searches, &w->key, &w->search, BPF_EXIST);
}

/* Ends the search that an answer belongs to. */
static __always_inline void end_search(struct udp_work *w)
{
	w->key.client = w->destination;
	w->key.cid = w->event.id;
	w->key.port = w->destination_port;
	if (bpf_map_delete_elem(&ca_searches, &w->key))
		return;
	give_place(IOCX_CA_UDP_HELD_SEARCHES, iocx_ca_holder_of(&w->destination, w->destination_port));
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
		client = add_entry(&ca_search_clients, &key, &fresh);
	if (!client) {
		count_udp(IOCX_CA_UDP_DROP_CLIENTS_FULL, w->searches);
		return;
	}
	__sync_fetch_and_add(&client->requests, w->searches);
	client->last_ns = w->now;
}
