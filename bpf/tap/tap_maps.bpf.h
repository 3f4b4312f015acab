/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * The maps and globals of tap/tap.bpf.c, and the work area that its functions share. shared/ca_tap.h describes what
 * user space reads and writes.
 */

#include "shared/ca_tap.h"
#include "shared/pva_identity.h"
#include "shared/pva_resync.h"
#include "tap/searches_map.bpf.h"

#define HINTS 4096

const volatile __u32 cfg_remote; /* 1: also read connections from this host to servers elsewhere */

struct work {
	struct segment segment; /* this and `busy` stand where struct packet_work has them */
	__u32 busy;
	__u32 pad;
	struct iocx_ca_flow_key key;
	struct iocx_ca_window window;
	__u32 data_at; /* offset of the current piece in the packet, or in the page */
	__u32 page;    /* index of the page with the current piece, plus 1; 0: the piece is in the packet */
	__u32 waits;   /* the data of the packet is not read or stored yet */
	__u32 refused; /* there is no room for the connection that begins */
	__u32 goes_on; /* the next piece belongs to the same extent */
	__u32 stored;  /* bytes of the packet that are in the window */
	struct iocx_ca_choice choice;
	__u64 last_id;
	struct iocx_ca_event event; /* by PV Access `id` and `notify` of a put */
	struct iocx_pva_event pva;
	struct iocx_pva_identity identity;
	struct iocx_ca_pending request;
	__u64 now; /* when the segment was seen; its lowest bit is 0 */
	struct iocx_ca_pending pending;
	struct iocx_ca_outcome fresh_outcome;
	struct iocx_ca_flow fresh_flow;
	struct iocx_ca_channel_info info;
	struct iocx_ca_search_key search;
};
_Static_assert(__builtin_offsetof(struct work, busy) == __builtin_offsetof(struct packet_work, busy),
	       "tap/packet.bpf.c writes this part of it");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, struct iocx_ca_flow_key);
	__type(value, struct iocx_ca_flow);
} ca_flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, struct iocx_ca_flow_key);
	__type(value, struct iocx_ca_begun);
} ca_begun SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, IOCX_CA_HOLDERS);
	__type(key, __u32);
	__type(value, struct iocx_held);
} ca_held SEC(".maps");

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

/* By circuit and IOID. Preallocated, since each WRITE_NOTIFY makes and deletes an entry. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct iocx_ca_channel_key);
	__type(value, struct iocx_ca_pending);
} ca_pending SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, __u64); /* channel */
	__type(value, struct iocx_ca_outcome);
} ca_outcomes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, struct iocx_ca_failure_key);
	__type(value, struct iocx_ca_failure);
} ca_failures SEC(".maps");

/* Bytes that arrived ahead of missing ones. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct iocx_ca_page);
} ca_pages SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32); /* index of a page */
	__type(value, struct iocx_ca_page_owner);
} ca_page_owners SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 1);
	__type(value, __u32); /* index of a page */
} ca_free_pages SEC(".maps");

/* How many directions want acknowledgements. While none does, mere ones are skipped. */
__u32 windows;

/* Lock of ca_tap_insert: the CPU that inserts the key holds it. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 4096);
	__type(key, struct iocx_ca_channel_key); /* iocx_ca_flow.lock, direction */
	__type(value, __u32);
} ca_locks SEC(".maps");

/*
 * The probable slot of a SID, by a hash of circuit and SID. Written without a lock: the slot itself says which
 * channel it counts. With the hint, most puts need no look-up in ca_sids.
 */
__u32 slot_hints[HINTS];

/*
 * Bits of TCP ports at which all servers are probed for their puts and the results. These are not followed there, nor
 * the channels of Channel Access. Written by user space, which removes remaining duplicates. Another server may have such
 * a port at another address, or after the probed one: while its IOC is to come its connections are followed.
 */
#define PORT_WORDS (65536 / 32)
__u32 ca_probed_ports[PORT_WORDS];

static __always_inline int is_probed(const struct work *w, const struct iocx_ca_flow *flow)
{
	__u64 word = w->key.server_port >> 5;

	if ((flow->ioc & ~IOCX_CA_IOC_PVA) == IOCX_CA_IOC_TO_COME || flow->ioc == IOCX_CA_IOC_REMOTE)
		return 0;
	IOCX_CA_MASK(word, PORT_WORDS - 1);
	return ca_probed_ports[word] >> (w->key.server_port & 31) & 1;
}
