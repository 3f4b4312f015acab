/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * The maps of tap/udp.bpf.c, and the work area that its functions share. shared/ca_udp.h describes what user space
 * reads and writes.
 */

struct udp_work {
	struct iocx_ca_address source;
	struct iocx_ca_address destination;
	__u32 source_port;
	__u32 destination_port;
	__u32 data_at; /* offset of the UDP payload in the packet */
	__u32 loopback;
	__u32 outgoing;
	__u64 searches; /* searches in this datagram */
	__u64 now;
	struct iocx_ca_udp_event event;
	struct iocx_ca_search search; /* a new one */
	struct iocx_ca_search_key key;
	struct iocx_ca_datagram datagram;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct udp_work);
} ca_udp_work SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, IOCX_CA_UDP_DROPS);
	__type(key, __u32);
	__type(value, __u64);
} ca_udp_drops SEC(".maps");

/* User space sets the sizes that are 1 here before it loads the program. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, struct iocx_ca_search_client);
	__type(value, struct iocx_ca_search_count);
} ca_search_clients SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, struct iocx_ca_beacon_key);
	__type(value, struct iocx_ca_beacon);
} ca_beacons SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, IOCX_CA_HOLDERS);
	__type(key, __u32);
	__type(value, struct iocx_held);
} ca_udp_held SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 4096);
	__type(key, __u32); /* index of a device whose packets are seen again on the one that it belongs to */
	__type(value, __u32);
} ca_lower_devices SEC(".maps");
