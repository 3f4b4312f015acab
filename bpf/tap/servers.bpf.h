/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * The maps of servers, addresses and ports, shared by tap/tap.bpf.c and tap/udp.bpf.c, and how a program adds a server.
 * Needs tap/segment.bpf.h.
 */

/* User space sets the sizes that are 1 here before it loads the programs. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, struct iocx_ca_server);
	__type(value, __u32); /* ioc */
} ca_servers SEC(".maps");

/*
 * What is local to the network namespace: addresses of devices, and routes such as `ip route add local 10.0.0.0/24 dev
 * lo`. A wildcard server answers on these only.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 16384);
	__type(key, struct iocx_ca_local_route);
	__type(value, __u32);
} ca_local SEC(".maps");

/* Ports whose bit is set in ca_watched: see struct iocx_ca_port_set. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, __u32); /* port */
	__type(value, __u32);
} ca_ports SEC(".maps");

static __always_inline int is_local(const struct iocx_ca_address *address)
{
	struct iocx_ca_local_route route = {};

	route.bits = IOCX_CA_ROUTE_BITS;
	route.address = *address;
	return bpf_map_lookup_elem(&ca_local, &route) != 0;
}

/*
 * Watches the port from now on. The atomic addition sets the bit: it works as an "or", since only the program that
 * inserted the port adds it. Linux 5.10 has no other atomic operation.
 */
static __always_inline void watch_port(__u32 port)
{
	const __u32 watched = IOCX_CA_PORT_WATCHED;
	__u64 word = port >> 6;
	struct iocx_ca_port_set *set;

	if (bpf_map_update_elem(&ca_ports, &port, &watched, BPF_NOEXIST))
		return; /* it is watched already, or there is no room */
	set = only_element(&ca_watched);
	if (!set)
		return;
	IOCX_CA_MASK(word, IOCX_CA_PORT_WORDS - 1);
	__sync_fetch_and_add(&set->words[word], 1ULL << (port & 63));
}

/*
 * Adds a server that a program has found: `ioc` is IOCX_CA_IOC_TO_COME or IOCX_CA_IOC_REMOTE. Returns whether it is
 * new.
 */
static __always_inline int learn_server(const struct iocx_ca_server *server, __u32 ioc)
{
	if (bpf_map_update_elem(&ca_servers, server, &ioc, BPF_NOEXIST))
		return 0;
	watch_port(server->port);
	return 1;
}
