/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Writes of clients of Channel Access in the IOC's own process to its own records: the sequencer, CA links. They enter
 * dbChannelIO::write() (dbChannelIO.cpp, exported in all Bases), and no server. A failed one throws: entries only.
 */
#ifndef IOC_EXPORTER_BPF_PUTS_CA_INSIDE_BPF_H
#define IOC_EXPORTER_BPF_PUTS_CA_INSIDE_BPF_H

#define IO_NOTIFY 8    /* dbChannelIO: cacChannel.callback, an oldChannelNotify */
#define NOTIFY_USER 32 /* oldChannelNotify.pPrivate: the caLink */
#define LINK_OF_CA_LINK 32
#define RECORD_OF_LINK 0
#define LINK_OF_CA_LINK_3 24 /* the same before Base 7 */
#define RECORD_OF_LINK_3 8
#define ENUM_TYPE_3 9

/* The dbChannelIO as if it were a channel_in_use. */
#define INSIDE_CHANNEL(io) ((io) + IOCX_INSIDE_CHANNEL - CHANNEL_RECORD)

/* Address of the record whose CA link writes; 0: that cannot be read. */
static __always_inline __u64 source_of_link(const struct iocx_server_ioc *ioc, __u64 io)
{
	const int before_7 = ioc->enum_type == ENUM_TYPE_3;
	__u64 at = 0, record = 0;

	if (read_at(&at, sizeof at, io + IO_NOTIFY) || read_at(&at, sizeof at, at + NOTIFY_USER) ||
	    read_at(&at, sizeof at, at + (before_7 ? LINK_OF_CA_LINK_3 : LINK_OF_CA_LINK)) ||
	    read_at(&record, sizeof record, at + (before_7 ? RECORD_OF_LINK_3 : RECORD_OF_LINK)))
		return 0;
	return record;
}

static __always_inline int is_link_thread(const __u64 *name)
{
	static const char wanted[16] = "dbCaLink";

	return name[0] == *(const __u64 *)wanted && !name[1];
}

/* The slot of the writer and the field, plus 1; 0: there is none. */
static __noinline __u32 inside_slot(const struct iocx_server_ioc *ioc, __u64 io)
{
	struct iocx_ca_server_key key = {.who = {.generation = ioc->generation, .sid = IOCX_INSIDE_SID}};
	struct channel_address address;
	struct iocx_ca_server_info *info;
	struct iocx_server_slot *slot;
	__u64 name[2] = {}, record = 0;
	__u32 client, index = 0;

	if (read_address(&address, INSIDE_CHANNEL(io), ioc->by_db_addr))
		return 0;
	bpf_get_current_comm(name, sizeof name);
	if (is_link_thread(name))
		record = source_of_link(ioc, io);
	key.client = address.field;
	key.user = name[0];
	key.host = name[1];
	__builtin_memcpy(key.who.address, &record, sizeof record);
	slot = slot_of_key(&key, &index);
	if (slot) {
		slot->application = INSIDE_CHANNEL(io); /* that of before may have gone */
	} else {
		client = IOCX_SERVER_HELD_CLIENT +
			 ((__u32)(name[0] ^ name[0] >> 32 ^ name[1] ^ ioc->generation) * 0x9E3779B1u >> 16) %
				 IOCX_SERVER_CLIENT_BUCKETS;
		slot = take_free_slot(ioc, client, &index, &info);
		if (!slot)
			return 0;
		info->key = key;
		info->name[0] = info->field[0] = 0;
		__builtin_memcpy(info->user, name, sizeof name);
		info->user[sizeof name] = 0;
		read_text(info->host, RECORD_NAME_SIZE, record);
		slot->client = key.client;
		slot->who = key.who;
		slot->inside = 1;
		slot->reports_results = ioc->reports_results;
		slot->by_db_addr = ioc->by_db_addr;
		slot->application = INSIDE_CHANNEL(io);
		on_put_channel(slot, ioc->enum_type);
		if (!read_channel_name(info, ioc, INSIDE_CHANNEL(io)))
			slot->named = info->name[0] != 0;
		if (publish_slot(&key, slot, index, ioc, client) && !slot_of_key(&key, &index))
			return 0;
	}
	return index + 1;
}

/* dbChannelIO::write(this, guard, type, count, value), and the same with what is called when it is done. */
static __always_inline int on_inside_write(struct pt_regs *ctx, __u32 op)
{
	const struct iocx_server_ioc *ioc = current_ioc();
	const __u64 now_and_op = put_time(op);
	struct iocx_server_slot *slot;
	__u32 index;

	if (!ioc)
		return 0;
	index = inside_slot(ioc, PT_REGS_PARM1(ctx)) - 1;
	slot = bpf_map_lookup_elem(&server_slots, &index);
	if (op)
		expect_callback(slot, index, now_and_op & ~1ULL);
	if (cfg_traces)
		trace_put(slot, index, slot ? &slot->who : NULL, now_and_op, PT_REGS_SP(ctx));
	if (!slot) {
		add_to_counter(&server_drops, IOCX_CA_SERVER_DROP_INSIDE, 1);
		return 0;
	}
	add_put(slot, op);
	return on_put_inside(ctx, slot, index, now_and_op);
}

PROGRAM(ca_inside)
{
	return on_inside_write(ctx, 0);
}

PROGRAM(ca_inside_cb)
{
	return on_inside_write(ctx, 1);
}

/* putNotifyCompletion(notify). */
PROGRAM(ca_inside_done)
{
	return end_open(PT_REGS_PARM1(ctx), failure_of_notify(PT_REGS_PARM1(ctx)));
}

#endif
