// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
/*
 * Counts the puts that an EPICS Base server (rsrv) was asked for: once at the entry of write_action() and of
 * write_notify_action() (rsrv/camessage.c, the same from 3.14.12 to 7.0), whatever travelled to make it call them. What
 * became of them is in puts/ca_results.bpf.h.
 *
 * The first put to a channel reads its client and its name from the server's own structures, in the thread that serves
 * the client: the memory is there, and the channel and the client stay meanwhile. Later puts find the slot by a key and
 * add one. A read of the IOC's memory takes as long as everything else together: where the channel is the client's own,
 * as nearly always, only the SID is read.
 */
#include <linux/types.h>
#include <linux/ptrace.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "base/maps.bpf.h"
#include "shared/server_probe.h"
#include "shared/verifier.h"
#define SERVER_KEY struct iocx_ca_server_key
#define SERVER_INFO struct iocx_ca_server_info
#define SERVER_DROPS IOCX_CA_SERVER_DROPS
#include "puts/server_probe.bpf.h"
#include "puts/put_durations.bpf.h"
#include "puts/open_callbacks.bpf.h"
#define TRACES_WITHOUT_PVA
#include "traces/puts.bpf.h"

/* Of rsrv; src/puts/inventory/rsrv_layout.h has the whole structs. */
#define HEADER_CID 8       /* caHdrLargeArray.m_cid */
#define HEADER_TYPE 16     /* caHdrLargeArray.m_dataType, and m_cmmd */
#define CLIENT_ADDRESS 168 /* struct client: the sockaddr_in, and up to pHostName */
#define CHANNEL_CLIENT 40
#define CHANNEL_SID_OFFSET 60
#define CHANNEL_RECORD 72 /* channel_in_use: dbChannel * or, before 3.15.1, the dbAddr */
#define FIELD_TYPE 36     /* dbFldDes.field_type */
#define RECORD_NAME_SIZE 61
#define MOST_BITS 16 /* of the hash of channels; rsrv makes 12 */
/* Items of one chain that are looked at: chains of a hundred hold 400,000 channels, but a client may make one longer. */
#define MOST_IN_CHAIN 100
/* Then no put looks for the channel again: user space names the slot, by all of the hash. */
#define MOST_SEARCHES 3
#define HINTS 4096

/*
 * The probable slot, plus 1, by a hash of client and SID: it spares two look-ups. Written without a lock: the slot
 * itself names its owner.
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

static __noinline int read_text(char *to, __u32 size, __u64 address)
{
	const long length = address ? bpf_probe_read_user_str(to, size, (const void *)(unsigned long)address) : -1;
	char last = 0;

	if (length < 0)
		to[0] = 0;
	if (length == size && !read_at(&last, sizeof last, address + size - 1) && last)
		add_to_counter(&server_drops, IOCX_SERVER_DROP_CUT, 1);
	return 0;
}

/* The dbAddr of a channel, which is read for each put: the end of a channel is not seen. */
static __always_inline int read_address(struct channel_address *address, __u64 application, __u8 by_db_addr)
{
	__u64 at = application + CHANNEL_RECORD;

	if (!by_db_addr) {
		if (read_at(&at, sizeof at, at))
			return -1;
		at += 8; /* dbChannel.addr */
	}
	return read_at(address, sizeof *address, at);
}

#include "putlog/ca_server.bpf.h"
#include "traces/ca_put.bpf.h"

/* The channel with the SID, as bucketLookupItemUnsignedId() finds it (bucketLib.c); 0: there is none. */
static __noinline __u64 find_channel(__u64 variable, __u32 sid)
{
	struct hash_head head;
	struct hash_item item;
	__u64 bucket = 0, at = 0;
	__u32 hash = sid, upper, found;
	int i;

	if (!variable || read_at(&bucket, sizeof bucket, variable) || read_at(&head, sizeof head, bucket))
		return 0;
	if (head.bits == 0 || head.bits > MOST_BITS)
		return 0;
	upper = sid >> head.bits;
	for (i = 0; i < 32 && upper; i++) {
		hash ^= upper;
		upper >>= head.bits;
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

static __always_inline void read_names_of_record(struct iocx_ca_server_info *info, __u64 channel)
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

/* `channel`: what leads to the record stands at CHANNEL_RECORD. */
static __always_inline int read_channel_name(struct iocx_ca_server_info *info, const struct iocx_server_ioc *ioc,
					     __u64 channel)
{
	__u64 db_channel = 0, name = 0;

	if (ioc->by_db_addr) {
		read_names_of_record(info, channel);
		return 0;
	}
	if (read_at(&db_channel, sizeof db_channel, channel + CHANNEL_RECORD) ||
	    read_at(&name, sizeof name, db_channel))
		return -1;
	return read_text(info->name, sizeof info->name, name);
}

/* Reads the client from the IOC's memory. Not 0: it cannot be read. */
static __noinline int read_client(struct iocx_ca_server_key *key, __u64 client)
{
	struct client_tail tail = {};

	key->client = client;
	if (read_at(&tail, sizeof tail, client + CLIENT_ADDRESS))
		return -1;
	key->user = tail.user;
	key->host = tail.host;
	__builtin_memcpy(key->who.address, tail.address, sizeof key->who.address);
	key->who.port = (__u16)(tail.port[0] << 8 | tail.port[1]);
	return 0;
}

/* A number for as much of a text as is kept. Global: the verifier looks at it once. */
__attribute__((noinline)) __u64 number_of_text(__u64 address)
{
	__u64 words[8] = {}, number = 0;
	int i;

	if (address)
		bpf_probe_read_user_str(words, sizeof words, (const void *)(unsigned long)address);
	for (i = 0; i < 8; i++)
		number = (number ^ words[i] ^ number >> 29) * 0x9E3779B97F4A7C15ULL;
	return number;
}

/* The same, of a slot's key. */
static __always_inline int read_client_of_key(struct iocx_ca_server_key *key, __u64 client)
{
	if (read_client(key, client))
		return -1;
	key->who.names = (__u16)((number_of_text(key->user) ^ number_of_text(key->host) >> 1) >> 48);
	return 0;
}

/* The channel is another client's. */
static __noinline int note_owner(struct iocx_ca_server_info *info, __u64 client)
{
	struct iocx_ca_server_key owner = {};

	if (read_client(&owner, client))
		return 0;
	__builtin_memcpy(info->owner_address, owner.who.address, sizeof info->owner_address);
	info->owner_port = owner.who.port;
	read_text(info->owner_user, sizeof info->owner_user, owner.user);
	return 0;
}

/*
 * Names the slot by its channel; 0: that was not found, while other threads may have changed its chain of the hash. Not
 * inlined: what it has on the stack would be below that of every put.
 */
static __noinline int name_slot(struct iocx_server_slot *slot, struct iocx_ca_server_info *info,
				const struct iocx_server_ioc *ioc, __u64 channel)
{
	__u64 client = 0;

	if (!channel || read_at(&client, sizeof client, channel + CHANNEL_CLIENT) || !client) {
		slot->searches++;
		return 0;
	}
	if (client != info->key.client) {
		slot->guest = 1;
		note_owner(info, client);
	}
	slot->application = channel;
	slot->by_db_addr = ioc->by_db_addr;
	on_put_channel(slot, ioc->enum_type);
	if (!read_channel_name(info, ioc, channel))
		slot->named = info->name[0] != 0;
	return 0;
}

static __always_inline __u32 holder_of_client(const struct iocx_server_who *who)
{
	const __u8 *address = who->address;
	__u32 hash = (__u32)address[0] << 24 | (__u32)address[1] << 16 | (__u32)address[2] << 8 | address[3];

	hash = (hash ^ who->generation * 0x85EBCA6Bu) * 0x9E3779B1u;
	if (address[0] == 127)
		hash = (hash ^ who->port) * 0x9E3779B1u;
	return IOCX_SERVER_HELD_CLIENT + (hash >> 16) % IOCX_SERVER_CLIENT_BUCKETS;
}

/* The slot that the key has; NULL: it has none. */
static __always_inline struct iocx_server_slot *slot_of_key(const struct iocx_ca_server_key *key, __u32 *index)
{
	const __u32 *found = bpf_map_lookup_elem(&slot_by_key, key);

	if (!found)
		return 0;
	*index = *found;
	return bpf_map_lookup_elem(&server_slots, index);
}

/* A slot for the key, with its names; NULL: there is none. */
static __always_inline struct iocx_server_slot *take_slot(const struct iocx_ca_server_key *key,
							  const struct iocx_server_ioc *ioc, __u64 channel,
							  __u32 *index)
{
	const __u32 client = holder_of_client(&key->who);
	struct iocx_ca_server_info *info;
	struct iocx_server_slot *slot;

	slot = take_free_slot(ioc, client, index, &info);
	if (!slot)
		return 0;
	info->key = *key;
	info->name[0] = info->field[0] = info->owner_user[0] = 0;
	info->owner_port = 0;
	read_text(info->user, sizeof info->user, key->user);
	read_text(info->host, sizeof info->host, key->host);
	slot->client = key->client;
	slot->who = key->who;
	slot->named = slot->searches = slot->guest = 0;
	slot->reports_results = ioc->reports_results;
	name_slot(slot, info, ioc, channel);
	return publish_slot(key, slot, *index, ioc, client) ? slot_of_key(key, index) : slot;
}

/* Where the probable slot of a client's channel is noted. */
static __always_inline __u32 *hint_of(__u64 client, __u32 sid)
{
	return &slot_hints[((client >> 4) * 31 + sid) % HINTS];
}

static __always_inline int is_for(const struct iocx_server_slot *slot, __u64 client, __u32 sid)
{
	return slot->state == IOCX_SLOT_LIVE && slot->client == client && slot->who.sid == sid;
}

/* The probable slot, if it is the one; NULL: it is not. */
static __always_inline struct iocx_server_slot *slot_of_hint(__u64 client, __u32 sid, __u32 *index)
{
	struct iocx_server_slot *probable;

	*index = *hint_of(client, sid) - 1;
	probable = bpf_map_lookup_elem(&server_slots, index);
	return probable && is_for(probable, client, sid) && probable->tid == (__u32)bpf_get_current_pid_tgid()
		       ? probable
		       : 0;
}

/*
 * The slot for what a client sends to the SID of the key, which is filled in. NULL, and the reason in `drop`: there is
 * none.
 */
static __always_inline struct iocx_server_slot *find_or_take_slot(struct iocx_ca_server_key *key,
								  const struct iocx_server_ioc *ioc, __u64 sender,
								  __u32 *index, __u32 *drop)
{
	struct iocx_server_slot *slot;
	struct iocx_ca_server_info *info;
	__u64 channel;

	key->who.generation = ioc->generation;
	*drop = IOCX_SERVER_DROP_UNREADABLE;
	if (read_client_of_key(key, sender))
		return 0;
	slot = slot_of_key(key, index);
	if (slot && (slot->named || slot->searches >= MOST_SEARCHES))
		return slot;
	channel = find_channel(ioc->bucket, key->who.sid);
	*drop = IOCX_SERVER_DROP_FULL;
	if (!slot)
		return take_slot(key, ioc, channel, index);
	info = slot->named ? 0 : bpf_map_lookup_elem(&slot_info, index);
	if (info)
		name_slot(slot, info, ioc, channel);
	return slot;
}

#include "puts/ca_results.bpf.h"

#define NOT_READ (1ULL << 32)
#define NO_PUT (2ULL << 32) /* it acknowledges an alarm, and does not process the record as a WRITE_NOTIFY does */

/* The SID of a request to write, and what else it is. Not inlined: what it reads would be on the stack of every put. */
static __noinline __u64 read_request(__u64 header, __u32 op)
{
	struct { /* part of caHdrLargeArray */
		__u32 sid, ioid;
		__u16 type, command;
	} asked = {};

	if (read_at(&asked, sizeof asked, header + HEADER_CID))
		return NOT_READ;
	return asked.sid | (!op && iocx_dbr_acknowledges(asked.type) ? NO_PUT : 0);
}

/* A put whose slot is not where the hint said. Returns the slot plus 1; 0: there is none, and `who` has put. */
static __noinline __u32 count_slowly(__u64 sender, __u64 asked, __u32 op, struct iocx_server_who *who)
{
	const struct iocx_server_ioc *ioc = current_ioc();
	struct iocx_ca_server_key key = {.who.sid = (__u32)asked};
	__u32 drop = IOCX_SERVER_DROP_UNREADABLE, index = 0;
	struct iocx_server_slot *slot;

	if (!ioc)
		return 0;
	key.who.generation = ioc->generation;
	slot = asked & NOT_READ ? 0 : find_or_take_slot(&key, ioc, sender, &index, &drop);
	if (!slot) {
		if (!(asked & NO_PUT))
			count_remainder(ioc, op, drop);
		if (op)
			add_to_counter(&server_drops, IOCX_CA_SERVER_DROP_RESULT, 1);
		*who = key.who;
		return 0;
	}
	/* A client without channels may take another name between two puts: its slot is always found by the key. */
	if (slot->named && !slot->guest) {
		slot->tid = (__u32)bpf_get_current_pid_tgid();
		*hint_of(sender, (__u32)asked) = index + 1;
	}
	if (!(asked & NO_PUT))
		add_put(slot, op);
	return index + 1;
}

static __always_inline int count_put(struct pt_regs *ctx, __u32 op)
{
	const __u64 client = PT_REGS_PARM3(ctx);
	const __u64 asked = read_request(PT_REGS_PARM1(ctx), op);
	const __u64 now_and_op = op || puts_are_followed() ? put_time(op) : 0;
	struct iocx_server_who who = {};
	struct iocx_server_slot *slot;
	__u32 index;

	slot = asked & NOT_READ ? 0 : slot_of_hint(client, (__u32)asked, &index);
	if (!slot) {
		index = count_slowly(client, asked, op, &who) - 1;
		slot = bpf_map_lookup_elem(&server_slots, &index);
	} else if (!(asked & NO_PUT)) {
		add_put(slot, op);
	}
	if (slot && puts_are_followed())
		who = slot->who;
	if (cfg_traces && who.generation)
		trace_put(slot, index, &who, now_and_op, 0);
	if (who.generation) /* else the IOC is not counted */
		on_put(ctx, slot, index, &who, now_and_op);
	/* Here, so that the program for WRITE does not have it. */
	if (op)
		note_asked(ctx, index, now_and_op & ~1ULL);
	return 0;
}

#include "puts/ca_inside.bpf.h"

PROGRAM(ca_write)
{
	return count_put(ctx, 0);
}

PROGRAM(ca_write_notify)
{
	return count_put(ctx, 1);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
