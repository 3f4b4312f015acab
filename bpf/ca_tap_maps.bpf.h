/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * The maps and globals of ca_tap.bpf.c, and what its functions hand to each other. What user space reads
 * and writes is described in shared/ca_tap.h.
 */

#define HINTS 4096

/* A TCP segment with a watched port. */
struct segment {
	__be32 source;
	__be32 destination;
	__u32 source_port;
	__u32 destination_port;
	__u32 seq;
	__u32 ack;
	__u32 flags;
	__u32 data_at; /* of the payload, in the packet */
	__u32 length;  /* of the payload */
	__u32 loopback;
	__u32 outgoing;
	__u32 direction; /* set by find_flow(), as is `ioc` for a SYN+ACK */
	__u32 ioc;
};

struct work {
	struct segment segment;
	struct iocx_ca_flow_key key;
	struct iocx_ca_window window;
	__u32 data_at; /* of the TCP payload, in the packet */
	__u32 busy;
	__u64 last_id;
	struct iocx_ca_event event;
	struct iocx_ca_flow fresh_flow;
	struct iocx_ca_channel_info info;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct work);
} ca_work SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, IOCX_CA_DROPS);
	__type(key, __u32);
	__type(value, __u64);
} ca_drops SEC(".maps");

/* Sizes that user space sets before it loads are given as 1 here. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, struct iocx_ca_server);
	__type(value, __u32); /* ioc */
} ca_servers SEC(".maps");

/* The host's own addresses: a wildcard server answers on these only. Loopback's need not be here. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 4096);
	__type(key, struct iocx_ca_local);
	__type(value, __u32);
} ca_local SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, struct iocx_ca_flow_key);
	__type(value, struct iocx_ca_flow);
} ca_flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, struct iocx_ca_channel_key);
	__type(value, __u32); /* slot */
} ca_sids SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, struct iocx_ca_channel_key);
	__type(value, struct iocx_ca_cid);
} ca_cids SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, __u64); /* channel */
	__type(value, struct iocx_ca_channel_info);
} ca_channel_info SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32); /* slot */
	__type(value, struct iocx_ca_channel);
} ca_channels SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 1);
	__type(value, __u32); /* slot */
} ca_free_slots SEC(".maps");

/* The one program that reads segments. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} ca_programs SEC(".maps");

/* The lock of ca_tap_insert: whoever inserts the key has it. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 4096);
	__type(key, struct iocx_ca_channel_key); /* circuit, direction */
	__type(value, __u32);
} ca_locks SEC(".maps");

__u64 watched_ports[65536 / 64]; /* bit = port in host byte order */

/*
 * Where the slot of a SID probably is. Only a hint, without any lock: the slot itself says whose it is.
 * It spares most puts a look into ca_sids.
 */
__u32 slot_hints[HINTS];
