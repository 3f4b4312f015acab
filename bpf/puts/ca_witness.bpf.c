// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
/*
 * Counts the puts that an EPICS Base server (rsrv) was asked for: once at the entry of write_action() and of
 * write_notify_action() (rsrv/camessage.c, the same from 3.14.12 to 7.0), whatever travelled to make it call them. What
 * became of them is in puts/witness_results.bpf.h.
 *
 * The first put to a channel reads whose it is and what it is called from the server's own structures, in the thread
 * that serves the client: its memory is there, and nobody closes the channel or frees the client meanwhile. Later
 * puts find the slot by a key and add one. Each read of the IOC's memory takes as long as all the rest: where the
 * channel is the client's own, as nearly all are, the SID is all that is read.
 */
#include <linux/types.h>
#include <linux/ptrace.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "base/durations.bpf.h"
#include "base/maps.bpf.h"
#include "putlog/events.bpf.h"
#include "shared/ca_witness.h"
#include "shared/verifier.h"
#define TRACES_WITHOUT_PVA
#include "traces/puts.bpf.h"

/* Of rsrv; src/puts/inventory/rsrv_layout.h has the whole structs. */
#define HEADER_CID 8       /* caHdrLargeArray.m_cid */
#define HEADER_TYPE 16     /* caHdrLargeArray.m_dataType, and m_cmmd */
#define CLIENT_ADDRESS 168 /* struct client: the sockaddr_in, and up to pHostName */
#define CHANNEL_CLIENT 40
#define CHANNEL_SID_OFFSET 60
#define CHANNEL_RECORD 72 /* channel_in_use: dbChannel * or, before 3.15.1, the dbAddr */
#define FIELD_NAME 8      /* dbFldDes.name */
#define FIELD_TYPE 36     /* dbFldDes.field_type */
#define RECORD_NAME_SIZE 61
#define MOST_BITS 16 /* of the hash of channels; rsrv makes 12 */
/* Items of one chain that are looked at. Chains of a hundred hold 400,000 channels. */
#define MOST_IN_CHAIN 100
#define HINTS 4096

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, IOCX_WITNESS_IOCS);
	__type(key, __u32); /* process id, in the initial namespace */
	__type(value, struct iocx_witness_ioc);
} witness_iocs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct iocx_witness_key);
	__type(value, __u32); /* slot */
} witness_slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32); /* slot */
	__type(value, struct iocx_witness_channel);
} witness_channels SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32); /* slot */
	__type(value, struct iocx_witness_info);
} witness_info SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32); /* slot */
	__type(value, struct iocx_witness_result);
} witness_results SEC(".maps");

/* As many as there are slots, so that it is never full; most slots have none. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, __u32); /* slot */
	__type(value, struct iocx_witness_durations);
} witness_durations SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 1);
	__type(value, __u32); /* slot */
} witness_free SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, IOCX_WITNESS_IOCS);
	__type(key, __u32); /* generation */
	__type(value, struct iocx_witness_rest);
} witness_rest SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, IOCX_WITNESS_DROPS);
	__type(key, __u32);
	__type(value, __u64);
} witness_drops SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, IOCX_WITNESS_SHARES);
	__type(key, __u32);
	__type(value, __u64); /* slots that are held */
} witness_shares SEC(".maps");

const volatile __u32 cfg_slots;

/*
 * The probable slot, plus 1, by a hash of client and SID: it spares two look-ups. Written without a lock: the slot
 * itself tells whose it is.
 */
__u32 slot_hints[HINTS];

/* A client from its address on. */
struct client_tail {
	__u16 family;
	__u8 port[2];
	__u8 address[4];
	__u64 zero;
	__u64 times[2];
	__u64 events;
	__u64 user;
	__u64 host;
};

struct hash_head {
	__u64 table;
	__u64 free_list;
	__u32 mask;
	__u32 bits;
};

struct hash_item {
	__u64 next;
	__u64 id;          /* unsigned * */
	__u64 application; /* struct channel_in_use * */
};

struct channel_address { /* struct dbAddr */
	__u64 record;
	__u64 field;
	__u64 description;
	__s64 elements;
	__s16 field_type;
	__s16 field_size;
	__s16 special;
	__s16 dbr_field_type;
};

static __always_inline int read_at(void *to, __u32 size, __u64 address)
{
	return bpf_probe_read_user(to, size, (const void *)(unsigned long)address);
}

static __always_inline void read_text(char *to, __u32 size, __u64 address)
{
	if (!address || bpf_probe_read_user_str(to, size, (const void *)(unsigned long)address) < 0)
		to[0] = 0;
}

#include "putlog/old_value.bpf.h"
#include "putlog/ca_server.bpf.h"
#include "traces/ca_put.bpf.h"

/* The channel with the SID, as bucketLookupItemUnsignedId() finds it (bucketLib.c); 0: there is none. */
static __always_inline __u64 find_channel(__u64 variable, __u32 sid)
{
	struct hash_head head;
	struct hash_item item;
	__u64 bucket = 0, at = 0;
	__u32 hash = sid, rest, found;
	int i;

	if (read_at(&bucket, sizeof bucket, variable) || read_at(&head, sizeof head, bucket))
		return 0;
	if (head.bits == 0 || head.bits > MOST_BITS)
		return 0;
	rest = sid >> head.bits;
	for (i = 0; i < 32 && rest; i++) {
		hash ^= rest;
		rest >>= head.bits;
	}
	if (read_at(&at, sizeof at, head.table + 8ULL * (hash & head.mask)))
		return 0;
	for (i = 0; i < MOST_IN_CHAIN && at; i++) {
		if (read_at(&item, sizeof item, at))
			return 0;
		if (item.id == item.application + CHANNEL_SID_OFFSET && !read_at(&found, sizeof found, item.id) &&
		    found == sid)
			return item.application;
		at = item.next;
	}
	return 0;
}

static __always_inline void read_names_of_record(struct iocx_witness_info *info, __u64 channel)
{
	struct channel_address address;
	__u64 name = 0;

	if (read_at(&address, sizeof address, channel + CHANNEL_RECORD))
		return;
	read_text(info->name, RECORD_NAME_SIZE, address.record);
	if (!read_at(&name, sizeof name, address.description + FIELD_NAME))
		read_text(info->field, sizeof info->field, name);
	read_at(&info->description_type, sizeof info->description_type, address.description + FIELD_TYPE);
	info->field_type = address.field_type;
	info->dbr_field_type = address.dbr_field_type;
}

/*
 * Names the slot's channel, if it is known now. Other threads may be changing its chain of the hash. Not inlined: what it
 * has on the stack would be below that of every put.
 */
static __noinline int name_slot(struct iocx_witness_channel *slot, struct iocx_witness_info *info,
				const struct iocx_witness_ioc *ioc)
{
	const __u64 channel = ioc->bucket ? find_channel(ioc->bucket, info->key.sid) : 0;
	__u64 db_channel = 0, name = 0, client = 0;

	if (!channel || read_at(&client, sizeof client, channel + CHANNEL_CLIENT) || client != info->key.client)
		return 0;
	slot->application = channel;
	slot->by_db_addr = ioc->by_db_addr;
	if (cfg_putlog_bytes)
		putlog_note_channel(slot, ioc, channel);
	if (ioc->by_db_addr) {
		read_names_of_record(info, channel);
	} else {
		if (read_at(&db_channel, sizeof db_channel, channel + CHANNEL_RECORD) ||
		    read_at(&name, sizeof name, db_channel))
			return 0;
		read_text(info->name, sizeof info->name, name);
	}
	slot->named = info->name[0] != 0;
	return 0;
}

/* When a put is seen, as in iocx_ca_channel. */
static __always_inline __u64 put_time(__u32 op)
{
	return (bpf_ktime_get_ns() & ~1ULL) | op;
}

static __always_inline void count_rest(const struct iocx_witness_ioc *ioc, __u32 op, enum iocx_witness_drop reason)
{
	struct iocx_witness_rest *rest = bpf_map_lookup_elem(&witness_rest, &ioc->generation);

	add_to_counter(&witness_drops, reason, 1);
	if (!rest)
		return;
	__sync_fetch_and_add(&rest->puts[op], 1);
	rest->last_put = put_time(op);
}

static __always_inline __u64 *share_at(__u32 index)
{
	return bpf_map_lookup_elem(&witness_shares, &index);
}

/* A slot for the key; NULL: there is none. User space has zeroed the counters of free slots. */
static __always_inline struct iocx_witness_channel *take_slot(const struct iocx_witness_key *key,
							      const struct iocx_witness_ioc *ioc, __u32 *index)
{
	const __u32 ioc_share = IOCX_WITNESS_SHARE_IOC + ioc->generation % IOCX_WITNESS_IOCS;
	const __u32 client_share = iocx_witness_share_of_client(key);
	__u64 *all = share_at(IOCX_WITNESS_SHARE_ALL), *user = share_at(ioc->user);
	__u64 *own = share_at(ioc_share), *client = share_at(client_share);
	struct iocx_witness_channel *channel;
	struct iocx_witness_info *info;
	__u32 slot;

	if (!all || !user || !own || !client || !iocx_witness_may(cfg_slots, *all, *user, *own, *client))
		return 0;
	if (bpf_map_pop_elem(&witness_free, &slot))
		return 0;
	channel = bpf_map_lookup_elem(&witness_channels, &slot);
	info = bpf_map_lookup_elem(&witness_info, &slot);
	if (!channel || !info)
		return 0;
	info->key = *key;
	channel->key = *key;
	info->name[0] = 0;
	info->field[0] = 0;
	read_text(info->user, sizeof info->user, key->user);
	read_text(info->host, sizeof info->host, key->host);
	channel->named = 0;
	name_slot(channel, info, ioc);
	/* One thread serves a client: nobody else adds its key. */
	if (bpf_map_update_elem(&witness_slots, key, &slot, BPF_NOEXIST)) {
		bpf_map_push_elem(&witness_free, &slot, BPF_EXIST);
		return 0;
	}
	channel->client = client_share;
	channel->ioc = ioc_share;
	channel->user = ioc->user;
	__sync_fetch_and_add(all, 1);
	__sync_fetch_and_add(user, 1);
	__sync_fetch_and_add(own, 1);
	__sync_fetch_and_add(client, 1);
	*index = slot;
	return channel;
}

/* The time is looked at once a tick: that takes longer than to count. */
static __always_inline void add_put(struct iocx_witness_channel *channel, __u32 op)
{
	const __u64 jiffy = bpf_jiffies64();

	__sync_fetch_and_add(&channel->puts[op], 1);
	if (channel->jiffy == jiffy && (channel->last_put & 1) == op)
		return;
	channel->jiffy = jiffy;
	channel->last_put = put_time(op);
}

/* Where the probable slot of a client's channel is noted. */
static __always_inline __u32 *hint_of(__u64 client, __u32 sid)
{
	return &slot_hints[((client >> 4) * 31 + sid) % HINTS];
}

static __always_inline int is_for(const struct iocx_witness_channel *channel, __u64 client, __u32 sid)
{
	return channel->state == IOCX_WITNESS_LIVE && channel->named && channel->key.client == client &&
	       channel->key.sid == sid;
}

/* Tells of a put those who want to know of each. `slot`: NULL when there is none for the key. */
static __always_inline void tell(struct pt_regs *ctx, const struct iocx_witness_channel *slot, __u32 index,
				 const struct iocx_witness_key *key, __u32 op)
{
	__u64 now_and_op;

	if (!cfg_putlog_bytes && !cfg_traces)
		return;
	now_and_op = put_time(op);
	if (cfg_traces)
		trace_put(slot, index, key, now_and_op);
	if (cfg_putlog_bytes)
		putlog_ca_server(ctx, slot, index, key, now_and_op);
}

/* What the IOC's memory says of the client. Not 0: it cannot be read. */
static __noinline int read_client(struct iocx_witness_key *key, __u64 client)
{
	struct client_tail tail = {};

	key->client = client;
	if (read_at(&tail, sizeof tail, client + CLIENT_ADDRESS))
		return -1;
	key->user = tail.user;
	key->host = tail.host;
	__builtin_memcpy(key->address, tail.address, sizeof key->address);
	key->port = (__u16)(tail.port[0] << 8 | tail.port[1]);
	return 0;
}

/* Whose the channel with the SID is; 0: it is not known. */
static __noinline __u64 owner_of(const struct iocx_witness_ioc *ioc, __u32 sid)
{
	const __u64 channel = ioc->bucket ? find_channel(ioc->bucket, sid) : 0;
	__u64 owner = 0;

	return channel && !read_at(&owner, sizeof owner, channel + CHANNEL_CLIENT) ? owner : 0;
}

/*
 * The slot for what a client sends to the SID of the key, which is filled in: that of the channel's owner. NULL, and the
 * reason in `drop`: there is none.
 */
static __always_inline struct iocx_witness_channel *find_or_take_slot(struct iocx_witness_key *key,
								      const struct iocx_witness_ioc *ioc, __u64 sender,
								      __u32 *index, enum iocx_witness_drop *drop)
{
	struct iocx_witness_channel *channel = 0;
	struct iocx_witness_info *info;
	const __u32 *slot;
	__u64 owner;

	key->generation = ioc->generation;
	*drop = IOCX_WITNESS_DROP_UNREADABLE;
	if (read_client(key, sender))
		return 0;
	slot = bpf_map_lookup_elem(&witness_slots, key);
	channel = slot ? bpf_map_lookup_elem(&witness_channels, slot) : 0;
	if (!channel || !channel->named) {
		owner = owner_of(ioc, key->sid);
		if (owner && owner != sender && read_client(key, owner))
			return 0;
		slot = bpf_map_lookup_elem(&witness_slots, key);
		channel = slot ? bpf_map_lookup_elem(&witness_channels, slot) : 0;
	}
	*drop = IOCX_WITNESS_DROP_FULL;
	if (!slot || !channel)
		return take_slot(key, ioc, index);
	*index = *slot;
	info = channel->named ? 0 : bpf_map_lookup_elem(&witness_info, index);
	if (info)
		name_slot(channel, info, ioc);
	return channel;
}

/* From now on user space reads the slot. */
static __always_inline void open_slot(struct iocx_witness_channel *channel, __u64 id)
{
	if (channel->state != IOCX_WITNESS_FREE)
		return;
	channel->id = id;
	/* Last: the addition to FREE, 0, is atomic, the only ordered store that Linux 5.10 has. */
	__sync_fetch_and_add(&channel->state, IOCX_WITNESS_LIVE);
}

#include "puts/witness_results.bpf.h"

/* A put whose slot is not where the hint said. Returns the slot plus 1; 0: there is none. */
static __noinline __u32 count_slowly(struct pt_regs *ctx, __u32 sid, __u32 failed, __u32 op)
{
	const struct iocx_witness_ioc *ioc = current_ioc();
	const __u64 sender = PT_REGS_PARM3(ctx);
	struct iocx_witness_key key = {.sid = sid};
	enum iocx_witness_drop drop = IOCX_WITNESS_DROP_UNREADABLE;
	struct iocx_witness_channel *channel;
	__u32 index = 0;

	if (!ioc)
		return 0;
	key.generation = ioc->generation;
	channel = failed ? 0 : find_or_take_slot(&key, ioc, sender, &index, &drop);
	if (!channel) {
		count_rest(ioc, op, drop);
		if (op)
			add_to_counter(&witness_drops, IOCX_WITNESS_DROP_RESULT, 1);
		tell(ctx, 0, 0, &key, op);
		return 0;
	}
	if (key.client == sender) {
		channel->tid = (__u32)bpf_get_current_pid_tgid();
		*hint_of(sender, sid) = index + 1;
	}
	add_put(channel, op);
	open_slot(channel, channel->last_put | 1);
	tell(ctx, channel, index, &key, op);
	return index + 1;
}

static __always_inline int count_put(struct pt_regs *ctx, __u32 op)
{
	const __u64 client = PT_REGS_PARM3(ctx);
	struct iocx_witness_channel *probable;
	__u32 sid = 0, index;
	const __u32 failed = read_at(&sid, sizeof sid, PT_REGS_PARM1(ctx) + HEADER_CID) != 0;

	index = *hint_of(client, sid) - 1;
	probable = failed ? 0 : bpf_map_lookup_elem(&witness_channels, &index);
	if (probable && is_for(probable, client, sid) && probable->tid == (__u32)bpf_get_current_pid_tgid()) {
		add_put(probable, op);
		tell(ctx, probable, index, &probable->key, op);
	} else {
		index = count_slowly(ctx, sid, failed, op) - 1;
	}
	/* Here, so that the program for WRITE does not have it. */
	if (op)
		note_asked(ctx, index);
	return 0;
}

SEC("uprobe")
int witness_write(struct pt_regs *ctx)
{
	return count_put(ctx, 0);
}

SEC("uprobe")
int witness_notify(struct pt_regs *ctx)
{
	return count_put(ctx, 1);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
