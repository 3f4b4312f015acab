/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Results of the puts that rsrv was asked for. Part of puts/ca_server_probe.bpf.c.
 *
 * A WRITE that fails is answered by send_err(), which is not entered for a good one. A WRITE_NOTIFY that the server
 * accepts is started by dbProcessNotify() in the same thread; when it is done, the database calls the server's callback
 * in any thread; dbNotifyCancel() gives it up when its client or channel goes. All are given its processNotify, which
 * leads to the channel. One that the server refuses is answered by code that the compiler has put into
 * write_notify_action(): it is known at the entry by what the server will look at.
 */
#ifndef IOC_EXPORTER_BPF_PUTS_CA_RESULTS_BPF_H
#define IOC_EXPORTER_BPF_PUTS_CA_RESULTS_BPF_H

#define COMMAND_WRITE 4
#define COMMAND_WRITE_NOTIFY 19
#define LAST_TYPE 38         /* LAST_BUFFER_TYPE (db_access.h) */
#define ADDRESS_OF_CHANNEL 8 /* dbChannel.addr */
#define SPC_NOMOD 1
#define ACCESS_OF_CLIENT 60 /* AsgClient.access */
#define ACCESS_WRITE 2      /* asWRITE */

/* channel_in_use from its client on: src/puts/inventory/rsrv_layout.h has the whole structs. */
struct channel_tail {
	__u64 client, put_notify;
	__u32 cid, sid, times[2];
	__u64 db_channel, access;
};
struct channel_tail_by_db_addr { /* before Base 3.15.1 */
	__u64 client, put_notify;
	__u32 cid, sid, times[2];
	struct channel_address address;
	__u64 access;
};

/* processNotify, since Base 3.15.0.1. */
#define NOTIFY_STATUS 32
#define NOTIFY_PRIVATE 80  /* usrPvt: the channel */
#define NOTIFY_CANCELLED 1 /* of `status`; 0: done, others: the database refused */

/* Not static: the verifier does not follow each failure through all that comes after it. */
__noinline __u32 failure_of(__u32 status)
{
	switch (status >> 3) {
#define IOCX_PUT_FAILURE_ROW(NAME, NUMBER) \
	case NUMBER:                       \
		return IOCX_FAILED_##NAME;
		IOCX_PUT_FAILURE_LIST(IOCX_PUT_FAILURE_ROW)
#undef IOCX_PUT_FAILURE_ROW
	default:
		return IOCX_FAILED_OTHER;
	}
}

/*
 * Why the server will refuse a WRITE_NOTIFY to the channel, as write_notify_action() and rsrvCheckPut() look for it;
 * IOCX_FAILURES: it will not.
 */
static __always_inline __u32 refusal_of(struct pt_regs *ctx, const struct iocx_server_slot *slot)
{
	const __u64 at = slot->application + CHANNEL_CLIENT;
	struct channel_tail_by_db_addr found = {};
	struct channel_tail tail;
	__s32 rights = 0;
	__u16 type = 0;

	if (!read_at(&type, sizeof type, PT_REGS_PARM1(ctx) + HEADER_TYPE) && type > LAST_TYPE)
		return IOCX_FAILED_BAD_TYPE;
	if (slot->by_db_addr) {
		if (read_at(&found, sizeof found, at))
			return IOCX_FAILURES;
	} else {
		if (read_at(&tail, sizeof tail, at) ||
		    read_at(&found.address, sizeof found.address, tail.db_channel + ADDRESS_OF_CHANNEL))
			return IOCX_FAILURES;
		found.client = tail.client;
		found.sid = tail.sid;
		found.access = tail.access;
	}
	if ((!slot->guest && found.client != slot->client) || found.sid != slot->who.sid)
		return IOCX_FAILURES; /* the channel has gone */
	if (found.address.special == SPC_NOMOD)
		return IOCX_FAILED_NO_WRITE_ACCESS;
	/* Without access security there are no rights. */
	if (!found.access || read_at(&rights, sizeof rights, found.access + ACCESS_OF_CLIENT) || rights >= ACCESS_WRITE)
		return IOCX_FAILURES;
	return IOCX_FAILED_NO_WRITE_ACCESS;
}

/* At the entry of write_notify_action(). */
static __noinline int note_asked(struct pt_regs *ctx, __u32 index, __u64 now)
{
	const struct iocx_server_slot *slot = bpf_map_lookup_elem(&server_slots, &index);
	struct iocx_server_result *result = bpf_map_lookup_elem(&slot_results, &index);
	__u32 refusal;

	expect_callback(slot && slot->guest ? slot : 0, index, now);
	if (!slot || !result)
		return 0;
	if (result->asked_ns)
		add_to_counter(&server_drops, IOCX_CA_SERVER_DROP_RESULT, 1); /* neither started nor refused */
	result->asked_ns = 0;
	refusal = slot->named ? refusal_of(ctx, slot) : IOCX_FAILURES;
	if (refusal == IOCX_FAILURES) {
		result->asked_ns = now;
		return 0;
	}
	add_failure(result->failures, refusal);
	on_put_refused(PT_REGS_PARM1(ctx), refusal, 0);
	return 0;
}

/* The slot of a channel, by its own memory, plus 1; 0: none. It gets the channel's name, if it has none. */
static __noinline __u32 slot_of_channel(__u64 application, const struct iocx_server_ioc *ioc)
{
	struct iocx_ca_server_key key = {};
	struct iocx_ca_server_info *info;
	struct iocx_server_slot *slot;
	__u64 client = 0;
	__u32 index;

	if (read_at(&client, sizeof client, application + CHANNEL_CLIENT) ||
	    read_at(&key.who.sid, sizeof key.who.sid, application + CHANNEL_SID_OFFSET))
		return 0;
	index = *hint_of(client, key.who.sid) - 1;
	slot = bpf_map_lookup_elem(&server_slots, &index);
	if (slot && slot->named && is_for(slot, client, key.who.sid) && slot->who.generation == ioc->generation &&
	    slot->application == application)
		return index + 1;
	key.who.generation = ioc->generation;
	if (read_client_of_key(&key, client))
		return 0;
	slot = slot_of_key(&key, &index);
	if (!slot)
		return 0;
	info = slot->named ? 0 : bpf_map_lookup_elem(&slot_info, &index);
	if (info)
		name_slot(slot, info, ioc, application);
	return slot->application == application ? index + 1 : 0;
}

/*
 * The record of the put-callbacks of a channel's own client; NULL: this is not one of the server's, or that client's
 * puts were not counted with a slot.
 */
static __always_inline struct iocx_server_result *result_of(__u64 notify, __u32 *index)
{
	const struct iocx_server_ioc *ioc = current_ioc();
	__u64 application = 0;

	if (!ioc || read_at(&application, sizeof application, notify + NOTIFY_PRIVATE) || !application)
		return 0;
	*index = slot_of_channel(application, ioc) - 1;
	return bpf_map_lookup_elem(&slot_results, index);
}

/*
 * A put with callback inside the IOC, or to another client's channel, has ended; IOCX_FAILURES: well. One that is
 * cancelled counts so at once. Not static: the verifier then looks at it once, for any failure.
 */
__noinline int end_open(__u64 notify, __u32 failure)
{
	const struct iocx_server_slot *slot;
	struct iocx_server_result *result;
	struct iocx_open_callback callback;

	if (close_callback(notify, &callback))
		return 0;
	trace_put_ended(callback.slot, callback.since_ns);
	slot = bpf_map_lookup_elem(&server_slots, &callback.slot);
	result = bpf_map_lookup_elem(&slot_results, &callback.slot);
	if (!slot || !result || slot->id != callback.id)
		return 0;
	if (!slot->inside) {
		add_failure(result->failures, failure);
		if (failure != IOCX_FAILED_CANCELLED)
			add_put_duration(callback.slot, callback.since_ns);
	}
	return on_put_ended(callback.slot, callback.since_ns, failure);
}

static __always_inline __u32 failure_of_notify(__u64 notify)
{
	__s32 status = 0;

	if (read_at(&status, sizeof status, notify + NOTIFY_STATUS))
		add_to_counter(&server_drops, IOCX_CA_SERVER_DROP_RESULT, 1);
	return !status ? IOCX_FAILURES : status == NOTIFY_CANCELLED ? IOCX_FAILED_CANCELLED : IOCX_FAILED_PUT_FAILED;
}

/* send_err(header, status, client, format, ...). */
PROGRAM(ca_send_err)
{
	const __u64 header = PT_REGS_PARM1(ctx), sender = PT_REGS_PARM3(ctx);
	const __u32 failure = failure_of((__u32)PT_REGS_PARM2(ctx));
	const struct iocx_server_ioc *ioc = current_ioc();
	struct iocx_server_slot *slot = 0;
	struct iocx_ca_server_key key = {};
	struct iocx_server_result *result;
	__u16 type_and_command[2] = {};
	__u32 drop, op, gone, stray;
	__u32 index = 0;

	if (!ioc || read_at(type_and_command, sizeof type_and_command, header + HEADER_TYPE) ||
	    (type_and_command[1] != COMMAND_WRITE && type_and_command[1] != COMMAND_WRITE_NOTIFY))
		return 0;
	op = type_and_command[1] == COMMAND_WRITE_NOTIFY;
	if (!read_at(&key.who.sid, sizeof key.who.sid, header + HEADER_CID)) {
		slot = slot_of_hint(sender, key.who.sid, &index);
		if (!slot)
			slot = find_or_take_slot(&key, ioc, sender, &index, &drop);
	}
	gone = slot && failure == IOCX_FAILED_INTERNAL_ERROR && ioc->bucket && !find_channel(ioc->bucket, key.who.sid);
	stray = gone && slot->named;
	if (gone && !stray) { /* a channel that gets the SID later is not what this put was to */
		slot->searches = IOCX_SERVER_NOWHERE;
		bpf_map_delete_elem(&slot_by_key, &key);
	}
	on_put_refused(header, failure, stray);
	if (!op && iocx_dbr_acknowledges(type_and_command[0]))
		return 0; /* is not counted */
	result = slot ? bpf_map_lookup_elem(&slot_results, &index) : 0;
	if (result && op)
		result->asked_ns = 0;
	if (result && !stray) {
		add_failure(result->failures, failure);
		return 0;
	}
	if (result) {
		__sync_fetch_and_add(&slot->stray[op], 1);
		count_remainder(ioc, op, IOCX_SERVER_DROP_UNREADABLE);
	}
	fail_remainder(ioc, failure);
	return 0;
}

/* dbProcessNotify(notify). */
PROGRAM(ca_notify_start)
{
	const __u64 notify = PT_REGS_PARM1(ctx);
	const struct iocx_open_callback *expected = expected_callback();
	struct iocx_server_result *result, *own;
	__u32 index = 0;

	result = result_of(notify, &index);
	if (result && (expected || result->asked_ns) && result->notify) {
		/* The server has waited for the one before, and has given it up. */
		if (result->ended_ns)
			add_failure(result->failures, IOCX_FAILED_CALLBACK_TIMED_OUT);
		else
			add_to_counter(&server_drops, IOCX_CA_SERVER_DROP_RESULT, 1);
		result->notify = 0;
	}
	if (expected) {
		index = expected->slot;
		own = bpf_map_lookup_elem(&slot_results, &index);
		if (own)
			own->asked_ns = 0;
		return open_callback(notify);
	}
	if (!result || !result->asked_ns)
		return 0;
	result->since_ns = result->asked_ns;
	result->ended_ns = 0;
	result->asked_ns = 0;
	result->notify = notify;
	return 0;
}

/* write_notify_done_callback(notify), in any thread. */
PROGRAM(ca_notify_done)
{
	const __u64 notify = PT_REGS_PARM1(ctx);
	struct iocx_server_result *result;
	__u32 index = 0, failure;

	result = result_of(notify, &index);
	failure = failure_of_notify(notify);
	if (!result || result->notify != notify)
		return end_open(notify, failure);
	result->notify = 0;
	trace_put_ended(index, result->since_ns);
	add_failure(result->failures, failure);
	if (failure != IOCX_FAILED_CANCELLED)
		add_put_duration(index, result->since_ns);
	return on_put_ended(index, result->since_ns, failure);
}

/* dbNotifyCancel(notify): user space counts it a little later, unless it is done after all. */
PROGRAM(ca_notify_canc)
{
	const __u64 notify = PT_REGS_PARM1(ctx);
	struct iocx_server_result *result;
	__u32 index = 0;

	result = result_of(notify, &index);
	if (!result || result->notify != notify)
		return end_open(notify, IOCX_FAILED_CANCELLED);
	result->ended_ns = bpf_ktime_get_ns();
	trace_put_ended(index, result->since_ns);
	return 0;
}

#endif
