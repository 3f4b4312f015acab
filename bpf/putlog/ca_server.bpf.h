/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * The event of a put that rsrv was asked for, at the entry of write_action() or write_notify_action(): the payload is
 * still as it travelled, and the record as it was before.
 */
#ifndef IOC_EXPORTER_BPF_PUTLOG_CA_SERVER_BPF_H
#define IOC_EXPORTER_BPF_PUTLOG_CA_SERVER_BPF_H

#include "putlog/events.bpf.h"
#include "putlog/old_value.bpf.h"

struct put_header { /* caHdrLargeArray */
	__u32 size;
	__u32 count;
	__u32 cid;
	__u32 available;
	__u16 type;
	__u16 command;
};

/* The last request to a thread that serves a client. */
struct putlog_thread {
	__u32 place;      /* of the last put */
	__u8 is_sent;     /* the last put had room, and was not refused */
	__u8 is_open;     /* it is a WRITE */
	__u8 result_lost; /* a refusal had no room */
	__u8 pad;
	__u32 slot, sid; /* of the last put */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, __u32); /* thread id */
	__type(value, struct putlog_thread);
} putlog_threads SEC(".maps");

/* Parts of one put's event. */
struct putlog_put {
	struct put_header header;
	__u32 slot;
	__u32 value_bytes, old_bytes; /* that are wanted */
	__u32 place;
	__u32 flags;
	__u32 most;    /* elements that the field has room for */
	__u64 choice;  /* text of what is written as a number; 0: none */
	__u64 payload; /* where the IOC has what travelled */
	struct channel_address address;
};

static __always_inline void putlog_add_old(struct iocx_putlog_event *event, const struct iocx_server_slot *slot,
					   const struct putlog_put *put, __u32 room)
{
	const struct channel_address *address = &put->address;
	putlog_add_old_value(event, slot ? &slot->field : 0, address, put->most, put->old_bytes, room);
	if (putlog_add_text(event->bytes, put->choice))
		event->flags |= IOCX_PUTLOG_SENT_CHOICE;
}

static __always_inline void putlog_fill(struct iocx_putlog_event *event, const struct iocx_server_slot *slot,
					const struct iocx_server_who *who, __u64 now_and_op,
					const struct putlog_put *put, __u32 room)
{
	__u32 wanted = put->value_bytes;

	__builtin_memset(event, 0, sizeof *event);
	event->time = now_and_op & ~1ULL;
	event->lost = putlog_all_lost();
	event->id = slot ? slot->id : 0;
	event->number = slot ? slot->puts[now_and_op & 1] : 0;
	event->slot = put->slot;
	event->generation = who->generation;
	event->sid = who->sid;
	event->ioid = put->header.available;
	event->count = put->header.count;
	event->sent_bytes = put->header.size;
	event->room = room;
	event->type = put->header.type;
	event->enum_type = slot ? slot->field.enum_type : 0;
	event->flags = put->flags;
	event->source = IOCX_PUTLOG_CA_SERVER;
	event->op = now_and_op & 1;
	__builtin_memcpy(event->address, who->address, sizeof event->address);
	event->port = who->port;
	event->tid = (__u32)bpf_get_current_pid_tgid();
	if (wanted > room)
		wanted = room;
	IOCX_CA_OPAQUE(wanted);
	if (wanted <= room && !read_at(event->bytes, wanted, put->payload + iocx_dbr_value_at(put->header.type)))
		event->value_bytes = wanted;
	if (put->address.field_size)
		putlog_add_old(event, slot, put, room);
	putlog_submit(event, put->place, 2 * room);
}

/* Clients on this host are distinguished by their circuits; all that write in the IOC itself are one. */
static __always_inline __u32 putlog_place_of(const struct iocx_server_who *who)
{
	const __u64 port = who->address[0] == 127 ? who->port : 0;

	return iocx_putlog_place(cfg_putlog_seed, IOCX_PUTLOG_CA_SERVER, who->generation,
				 who->sid == IOCX_INSIDE_SID ? ~0ULL : port << 32 | *(const __u32 *)who->address);
}

/* After the event of the put that the thread begins with; `is_sent`: it had room. */
static __noinline int putlog_begin(const struct putlog_put *put, __u32 sid, __u32 is_sent, __u32 op)
{
	const struct putlog_thread state = {.place = put->place,
					    .is_sent = is_sent != 0,
					    .is_open = is_sent && !op,
					    .result_lost = !is_sent && (put->flags & IOCX_PUTLOG_RESULT_LOST),
					    .slot = put->slot,
					    .sid = sid};
	const __u32 tid = (__u32)bpf_get_current_pid_tgid();

	return bpf_map_update_elem(&putlog_threads, &tid, &state, BPF_ANY);
}

/* Before it. */
static __always_inline __u32 putlog_flags_of(const struct iocx_server_slot *slot)
{
	const __u32 tid = (__u32)bpf_get_current_pid_tgid();
	const struct putlog_thread *thread = bpf_map_lookup_elem(&putlog_threads, &tid);

	return (slot && slot->reports_results ? IOCX_PUTLOG_HAS_RESULT : 0) |
	       (thread && thread->result_lost ? IOCX_PUTLOG_RESULT_LOST : 0);
}

/* The server refuses the last put of this thread. */
static __noinline int putlog_refuse(__u32 failure, __u32 flags)
{
	const __u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct putlog_thread *thread = bpf_map_lookup_elem(&putlog_threads, &tid);
	struct iocx_putlog_event *event;

	if (!thread || !thread->is_sent)
		return 0;
	thread->is_sent = 0;
	event = putlog_result(thread->place, IOCX_PUTLOG_CA_SERVER, IOCX_PUTLOG_REFUSED);
	if (!event) {
		thread->result_lost = 1;
		return 0;
	}
	event->tid = tid;
	event->count = failure;
	event->flags = flags;
	thread->is_open = 0;
	putlog_submit(event, thread->place, 0);
	return 0;
}

/* The present value of the slot's field; field_size 0: not known. */
static __always_inline void putlog_look_at_field(const struct iocx_server_slot *slot, __u32 sid, struct putlog_put *put)
{
	__u64 bytes;

	if (!slot || putlog_find_value(slot, &put->address, sid, &put->flags, &put->most)) {
		put->address.field_size = 0;
		return;
	}
	bytes = (__u64)put->address.elements * (__u16)put->address.field_size;
	put->old_bytes = bytes > cfg_putlog_bytes ? cfg_putlog_bytes : bytes;
}

/* A put has ended. */
struct putlog_end {
	__u64 id;
	__u32 op, place, slot, sid, count, tid, flags, pad;
};

static __always_inline void putlog_fill_end(struct iocx_putlog_event *event, const struct putlog_end *end,
					    const struct iocx_server_slot *slot, const struct putlog_put *put,
					    __u32 room)
{
	__builtin_memset(event, 0, sizeof *event);
	event->time = bpf_ktime_get_ns();
	event->lost = putlog_all_lost();
	event->source = IOCX_PUTLOG_CA_SERVER;
	event->op = end->op;
	event->id = end->id;
	event->slot = end->slot;
	event->count = end->count;
	event->tid = end->tid;
	event->flags = end->flags | put->flags;
	event->room = room;
	event->enum_type = slot ? slot->field.enum_type : 0;
	if (room)
		putlog_add_old(event, slot, put, room);
	putlog_submit(event, end->place, 2 * room);
}

static __always_inline int putlog_send_end_in(const struct putlog_end *end, const struct iocx_server_slot *slot,
					      const struct putlog_put *put, __u32 room)
{
	struct iocx_putlog_event *event = putlog_reserve(2 * room);

	if (!event)
		return putlog_count_lost_answer();
	putlog_fill_end(event, end, slot, put, room);
	return 1;
}

/* With what the field has then, if that is wanted. 0: there is no room for it. */
static __noinline int putlog_send_end(const struct putlog_end *end)
{
	const struct iocx_server_slot *slot = 0;
	struct putlog_put put = {};

	if (cfg_putlog_after) {
		slot = bpf_map_lookup_elem(&server_slots, &end->slot);
		putlog_look_at_field(slot, end->sid, &put);
	}
	if (!putlog_may(end->place))
		return putlog_count_lost_answer();
	if (!put.address.field_size)
		return putlog_send_end_in(end, slot, &put, 0);
	if (put.old_bytes <= IOCX_PUTLOG_SMALL)
		return putlog_send_end_in(end, slot, &put, IOCX_PUTLOG_SMALL);
	return putlog_send_end_in(end, slot, &put, cfg_putlog_bytes);
}

/* The thread has done its last WRITE, if that was not refused. */
static __noinline int putlog_end_write(void)
{
	const __u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct putlog_thread *thread = bpf_map_lookup_elem(&putlog_threads, &tid);
	struct putlog_end end = {.op = IOCX_PUTLOG_ENDED, .tid = tid};

	if (!thread || !thread->is_open)
		return 0;
	end.place = thread->place;
	end.slot = thread->slot;
	end.sid = thread->sid;
	end.flags = thread->result_lost ? IOCX_PUTLOG_RESULT_LOST : 0;
	if (!putlog_send_end(&end))
		return 0;
	thread->is_open = 0;
	thread->result_lost = 0;
	return 0;
}

/*
 * cas_send_bs_msg(client, lock): a thread that serves a client calls it when it has done all that it has read. Others,
 * which send the updates of monitors, have no put.
 */
SEC("uprobe")
int ca_flush(void *ctx __attribute__((unused)))
{
	return cfg_putlog_bytes ? putlog_end_write() : 0;
}

/* The WRITE_NOTIFY of the slot that began at `since_ns` has ended; IOCX_FAILURES: well. */
static __noinline int on_put_ended(__u32 index, __u64 since_ns, __u32 failure)
{
	const struct iocx_server_slot *slot = bpf_map_lookup_elem(&server_slots, &index);
	struct putlog_end end = {.id = since_ns, .op = IOCX_PUTLOG_DONE, .slot = index, .count = failure};

	if (!cfg_putlog_bytes || !slot)
		return 0;
	end.place = putlog_place_of(&slot->who);
	end.sid = slot->who.sid;
	return putlog_send_end(&end);
}

/* What the field has, and the choice that is written as a number. */
static __noinline int putlog_look(struct putlog_put *put, const struct iocx_server_slot *slot, __u32 sid)
{
	putlog_look_at_field(slot, sid, put);
	if (slot && put->header.count && put->address.field_size && putlog_may_be_choice(&slot->field, &put->address))
		put->choice = putlog_sent_choice(&slot->field, &put->address,
						 put->payload + iocx_dbr_value_at(put->header.type), put->header.type,
						 put->flags & IOCX_PUTLOG_INSIDE);
	return 0;
}

static __always_inline int putlog_send_put_in(const struct putlog_put *put, const struct iocx_server_slot *slot,
					      const struct iocx_server_who *who, __u64 now_and_op, __u32 room)
{
	struct iocx_putlog_event *event = putlog_reserve(2 * room);

	if (!event)
		return putlog_count_no_room();
	putlog_fill(event, slot, who, now_and_op, put, room);
	return 1;
}

/* The event of the put, whose header, payload and flags are filled in, after putlog_look(). 0: there is no room for it. */
static __noinline int putlog_send_put(struct putlog_put *put, const struct iocx_server_slot *slot,
				      const struct iocx_server_who *who, __u64 now_and_op)
{
	/* As the server reads it, which does not look how long the message is. */
	const __u64 bytes = (__u64)put->header.count * iocx_dbr_value_size(put->header.type);

	put->place = putlog_place_of(who);
	put->value_bytes = bytes > cfg_putlog_bytes ? cfg_putlog_bytes : bytes;
	if (!putlog_has_share(put->place))
		return 0;
	if (put->value_bytes <= IOCX_PUTLOG_SMALL && put->old_bytes <= IOCX_PUTLOG_SMALL)
		return putlog_send_put_in(put, slot, who, now_and_op, IOCX_PUTLOG_SMALL);
	return putlog_send_put_in(put, slot, who, now_and_op, cfg_putlog_bytes);
}

/* `slot`: NULL when there is none for the put. The lowest bit of `now_and_op` is the operation. */
static __attribute__((noinline)) int putlog_ca_server(struct pt_regs *ctx, const struct iocx_server_slot *slot,
						      __u32 index, const struct iocx_server_who *who, __u64 now_and_op)
{
	struct putlog_put put = {.slot = index, .payload = PT_REGS_PARM2(ctx)};

	read_at(&put.header, sizeof put.header, PT_REGS_PARM1(ctx));
	put.flags = putlog_flags_of(slot);
	putlog_look(&put, slot, who->sid);
	return putlog_begin(&put, who->sid, putlog_send_put(&put, slot, who, now_and_op), now_and_op & 1);
}

/* The same of a write inside the IOC. What became of a plain one is not seen. */
static __noinline int on_put_inside(struct pt_regs *ctx, const struct iocx_server_slot *slot, __u32 index,
				    __u64 now_and_op)
{
	const __u32 op = now_and_op & 1;
	struct putlog_put put = {.slot = index, .payload = PT_REGS_PARM5(ctx)};

	if (!cfg_putlog_bytes)
		return 0;
	put.header.type = PT_REGS_PARM3(ctx);
	put.header.count = PT_REGS_PARM4(ctx);
	put.header.size = 0xFFFFFFFF; /* all of the value is there */
	put.flags = IOCX_PUTLOG_INSIDE | (op ? IOCX_PUTLOG_HAS_RESULT : 0);
	putlog_look(&put, slot, slot->who.sid);
	return putlog_send_put(&put, slot, &slot->who, now_and_op);
}

/* Whether somebody needs the time of each put. */
static __always_inline int puts_are_followed(void)
{
	return cfg_putlog_bytes || cfg_traces;
}

/* A put to the server. `slot`: NULL, there is none. */
static __always_inline void on_put(struct pt_regs *ctx, const struct iocx_server_slot *slot, __u32 index,
				   const struct iocx_server_who *who, __u64 now_and_op)
{
	if (cfg_putlog_bytes && cfg_putlog_after)
		putlog_end_write(); /* the one before has done what it does */
	if (cfg_putlog_bytes)
		putlog_ca_server(ctx, slot, index, who, now_and_op);
}

/*
 * `stray`: since no channel has the SID, the slot is that of an earlier one. write_action() or the like came before unless
 * the message is misaligned or too large.
 */
static __always_inline void on_put_refused(__u64 header, __u32 failure, int stray)
{
	__u32 size = 0;

	if (cfg_putlog_bytes && failure != IOCX_FAILED_TOO_LARGE && !read_at(&size, sizeof size, header) && !(size & 7))
		putlog_refuse(failure, stray ? IOCX_PUTLOG_STRAY : 0);
}

#endif
