/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Puts through Channel Access links, from the IOC whose record puts. dbCaPutLinkCallback() notes the value in the link
 * (struct caLink, dbCaPvt.h); the thread dbCaLink sends it later, by ca_array_put() or ca_array_put_callback(), and a put
 * that comes before that takes its place. What was sent is found again by the server (link_sends.bpf.h).
 *
 * Which put is sent: the last, but for one that has begun and has not reached the link yet. The link counts puts that take
 * the place of others (nNoWrite), in the same breath as it takes the value.
 *
 * Base has had two layouts: before 3.16, and since. Which one it is shows in the pointer back to the link.
 */
#ifndef IOC_EXPORTER_BPF_TRACES_LINKS_BPF_H
#define IOC_EXPORTER_BPF_TRACES_LINKS_BPF_H

#include "shared/trace_name.h"

/* struct link: value.pv_link.pvt */
#define LINK_PRIVATE 56
#define LINK_PRIVATE_BEFORE_3_16 16
/* struct caLink, since 3.16: plink, pvname, chid; whether it may write and is connected; what was put; counts. */
#define CA_LINK_HEAD 32
#define CA_LINK_STATE 113
#define CA_LINK_TAIL 320
/* The same, before. */
#define CA_LINK_HEAD_BEFORE_3_16 24
#define CA_LINK_STATE_BEFORE_3_16 81
#define CA_LINK_TAIL_BEFORE_3_16 288
/* libca, the same from 3.14.12 to 7.0: oldChannelNotify.io, which is the cacChannel of an nciu: pNameStr, piiu, sid. */
#define CHANNEL_IO 16
#define NCIU_NAME 104

struct ca_link_head {
	__u64 link;
	__u64 pv;
	__u64 channel;
};
struct ca_link_tail {
	__u8 got[4]; /* gotInNative, gotInString, gotOutNative, gotOutString */
	__u8 new_native;
	__u8 new_string;
	__u8 pad[2];
	__u64 disconnects;
	__u64 no_writes;
};
struct nciu_part {
	__u64 name;
	__u64 connection;
	__u32 sid;
	__u32 count;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, IOCX_TRACE_LINKS);
	__type(key, struct iocx_trace_link_key);
	__type(value, struct iocx_trace_link);
} trace_links SEC(".maps");

/* Zeroes, to copy. Never written. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct iocx_trace_link);
} zero_trace_link SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct iocx_trace_sends);
} zero_trace_sends SEC(".maps");

static __always_inline int read_from(void *to, __u32 size, __u64 address)
{
	return bpf_probe_read_user(to, size, (const void *)address);
}

/* Finds the caLink of a link. 0: it has none. */
static __always_inline __u64 find_ca_link(__u64 link, struct ca_link_head *head, __u32 *old_layout)
{
	__u64 ca_link = 0;

	*old_layout = 0;
	if (!read_from(&ca_link, sizeof(ca_link), link + LINK_PRIVATE) &&
	    !read_from(head, sizeof(*head), ca_link + CA_LINK_HEAD) && head->link == link)
		return ca_link;
	*old_layout = 1;
	if (!read_from(&ca_link, sizeof(ca_link), link + LINK_PRIVATE_BEFORE_3_16) &&
	    !read_from(head, sizeof(*head), ca_link + CA_LINK_HEAD_BEFORE_3_16) && head->link == link)
		return ca_link;
	return 0;
}

static __always_inline __u64 tail_of(__u64 ca_link, __u32 old_layout)
{
	return ca_link + (old_layout ? CA_LINK_TAIL_BEFORE_3_16 : CA_LINK_TAIL);
}

/* A span of the chain that is under way on the thread; 0: there is none. */
static __always_inline __u32 add_link_span(__u64 id, __u64 channel, __u32 flags, struct iocx_trace_by_link *by)
{
	struct iocx_trace_thread *trace = open_trace(id);
	struct iocx_thread *thread = traced_thread(id);
	struct iocx_trace_span *span;
	__u16 parent;
	__u64 now;

	if (!trace || !thread)
		return 0;
	parent = start_inner_span(trace, thread);
	if (!parent)
		return 0;
	by->chain = trace->chain.id;
	by->span = trace->started;
	by->chosen = trace->chain.why != 0;
	now = bpf_ktime_get_ns();
	span = add_span(trace, id, now);
	if (!span)
		return 0;
	span->record = channel;
	span->start_ns = now;
	span->end_ns = now;
	span->child_ns = 0;
	span->number = (__u16)by->span;
	span->parent = parent;
	span->status = 0;
	span->severity = IOCX_SEVERITIES;
	span->flags = (__u8)(IOCX_TRACE_SPAN_LINK | flags);
	return 1;
}

/* The link as it is known; its name is read again, as another link may have got its memory. */
static __noinline int name_link(struct iocx_trace_link *known, __u64 pv)
{
	struct iocx_trace_name name = IOCX_TRACE_NAME_START;
	__u64 hash;

	if (bpf_probe_read_user_str(known->pv, sizeof(known->pv), (const void *)pv) >= (long)sizeof(known->pv))
		return 0; /* may be longer */
	iocx_trace_name_add_text(&name, known->pv, sizeof(known->pv));
	hash = iocx_trace_name_end(&name);
	if (known->name != hash) {
		known->name = hash;
		known->puts = known->sent;
		known->io = 0;
		known->link = 0;
	}
	return 1;
}

/* A put is not sent, as the next one took its place. */
static __always_inline void tell_overtaken(const struct iocx_thread *thread, __u64 id,
					   const struct iocx_trace_by_link *by)
{
	struct iocx_trace_chain *event;

	if (!by->chain)
		return;
	event = trace_reserve(thread->slot);
	if (!event)
		return; /* then its span says nothing */
	__builtin_memset(event, 0, sizeof(*event));
	event->kind = IOCX_TRACE_OVERTAKEN;
	event->slot = thread->slot;
	event->generation = thread->generation;
	event->id = by->chain;
	event->parent_span = (__u16)by->span;
	event->owner = id;
	event->now_ns = bpf_ktime_get_ns();
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

/* A record puts through `link`. */
__noinline int trace_link_put(__u64 id, __u64 link)
{
	struct iocx_trace_link_key key = {};
	struct iocx_trace_link_put *put;
	struct iocx_trace_by_link by = {};
	struct ca_link_head head = {};
	struct ca_link_tail tail = {};
	struct iocx_trace_link *known;
	struct iocx_thread *thread;
	__u8 state[2] = {};
	__u32 old_layout, flags;
	__u64 ca_link;
	void *zeroes;
	int is_new;

	asm volatile("" : "+r"(link));
	if (!cfg_traces)
		return 0;
	thread = thread_of(id);
	zeroes = only_element(&zero_trace_link);
	if (!thread || !zeroes)
		return 0;
	ca_link = find_ca_link(link, &head, &old_layout);
	if (!ca_link ||
	    read_from(state, sizeof(state), ca_link + (old_layout ? CA_LINK_STATE_BEFORE_3_16 : CA_LINK_STATE)) ||
	    read_from(&tail, sizeof(tail), tail_of(ca_link, old_layout))) {
		count_trace(IOCX_TRACE_DROP_LINK_UNREADABLE);
		return 0;
	}
	flags = state[0] && state[1] ? 0 : IOCX_TRACE_SPAN_NOT_SENT;
	add_link_span(id, head.channel, flags, &by);
	key.channel = head.channel;
	key.generation = thread->generation;
	known = bpf_map_lookup_elem(&trace_links, &key);
	if (!known)
		known = add_entry(&trace_links, &key, zeroes);
	if (!known || !name_link(known, head.pv) || flags)
		return 0;
	if (known->link != ca_link) {
		known->link = ca_link;
		known->old_layout = old_layout;
		known->began = tail.got[2] || tail.got[3] ? tail.disconnects + 1 : 0;
	}
	put = &known->put[(known->puts + 1) & 1];
	if (known->puts - known->sent > 1) /* this is its place, and the one after it is in the link */
		tell_overtaken(thread, id, &put->by);
	put->by = by;
	put->no_writes = tail.no_writes;
	put->waits = known->puts != known->sent;
	is_new = tail.new_native || tail.new_string;
	if (put->waits && !is_new) { /* the one before it was sent unseen */
		put->waits = 0;
		known->missed += 1;
	} else if (is_new && known->puts && !put->waits &&
		   bpf_ktime_get_ns() - known->sent_ns > IOCX_TRACE_SENDING_NS) {
		known->missed += 1; /* or could not be sent */
	}
	__sync_fetch_and_add(&known->puts, 1);
	return 0;
}

/*
 * The put that ca_array_put() sends now, at `by`; chain 0: none that is traced, or it cannot be said. 1: the link has to be
 * looked at again, as a put has begun meanwhile.
 */
static __always_inline int take_link_put(struct iocx_trace_link *known, const struct iocx_thread *thread, __u64 id,
					 struct iocx_trace_by_link *by)
{
	const __u64 puts = known->puts, sent = known->sent;
	struct iocx_trace_by_link last, before;
	__u64 no_writes = 0, waits, then;

	if (sent == puts)
		return 0;
	last = known->put[puts & 1].by;
	waits = known->put[puts & 1].waits && puts - sent > 1;
	then = known->put[puts & 1].no_writes;
	before = known->put[(puts + 1) & 1].by;
	if (waits &&
	    read_from(&no_writes, sizeof(no_writes),
		      tail_of(known->link, known->old_layout) + __builtin_offsetof(struct ca_link_tail, no_writes)))
		return 0;
	if (waits && no_writes == then) { /* the last has not reached the link yet */
		if (known->puts != puts)
			return 1;
		*by = before;
		known->sent = puts - 1;
		return 0;
	}
	if (known->puts - puts > 1)
		return 1;
	*by = last;
	known->sent = puts;
	if (waits && known->puts == puts)
		tell_overtaken(thread, id, &before);
	return 0;
}

/* Whether the channel is one of libca to a server over TCP, with the link's PV; else it is the IOC's own. */
static __noinline int is_remote(struct iocx_trace_link *known, __u64 io, __u64 text)
{
	struct iocx_trace_name name = IOCX_TRACE_NAME_START;
	char pv[IOCX_TRACE_PV] = {};

	if (known->io == io)
		return 1;
	if (bpf_probe_read_user_str(pv, sizeof(pv), (const void *)text) < 2)
		return 0;
	iocx_trace_name_add_text(&name, pv, sizeof(pv));
	if (iocx_trace_name_end(&name) != known->name)
		return 0;
	known->io = io;
	return 1;
}

/* For the server, which takes it from there. */
static __always_inline int add_send(struct iocx_trace_link *known, const struct iocx_trace_link_key *key, __u32 sid,
				    const struct iocx_trace_by_link *by)
{
	struct iocx_trace_sends_key where = {.name = known->name, .sid = sid};
	const __u64 now = bpf_ktime_get_ns();
	struct iocx_trace_sends *sends;
	struct iocx_trace_send *send;
	__u64 disconnects = 0;
	void *zeroes = only_element(&zero_trace_sends);
	__u64 before_ns;
	__u32 head;
	int fresh;

	sends = zeroes ? find_or_add(&trace_sends, &where, zeroes) : NULL;
	if (!sends ||
	    read_from(&disconnects, sizeof(disconnects),
		      tail_of(known->link, known->old_layout) + __builtin_offsetof(struct ca_link_tail, disconnects)))
		return 0;
	head = sends->head;
	fresh = known->began != disconnects + 1;
	known->began = disconnects + 1;
	if (known->missed != 0 || sends->channel != key->channel || sends->generation != key->generation ||
	    sends->disconnects != disconnects) {
		if (sends->channel || known->missed) {
			sends->skip = head;
			__sync_fetch_and_add(&sends->losses, 1);
		} else if (fresh) {
			sends->trust = IOCX_TRACE_TRUSTED;
		}
		sends->channel = key->channel;
		sends->generation = key->generation;
		sends->disconnects = disconnects;
		known->missed = 0;
	}
	if (sends->unsure + sends->losses != sends->unsure_counted) {
		sends->unsure_counted = sends->unsure + sends->losses;
		count_trace(IOCX_TRACE_DROP_LINK_UNSURE);
	}
	send = &sends->sends[(head - 1) & (IOCX_TRACE_SENDS - 1)];
	before_ns = send->time_ns;
	send = &sends->sends[head & (IOCX_TRACE_SENDS - 1)];
	send->by = *by;
	send->time_ns = now;
	send->gap_ns = now - before_ns;
	__sync_fetch_and_add(&sends->head, 1);
	return 0;
}

/* ca_array_put() or ca_array_put_callback(), to a channel of a link or to any other one. */
__noinline int trace_link_send(__u64 id, __u64 channel)
{
	struct iocx_trace_link_key key = {.channel = channel};
	struct iocx_trace_by_link by = {};
	struct iocx_trace_link *known;
	struct iocx_thread *thread;
	struct nciu_part part = {};
	__u64 io = 0;

	asm volatile("" : "+r"(channel));
	if (!cfg_traces)
		return 0;
	thread = thread_of(id);
	if (!thread)
		return 0;
	key.generation = thread->generation;
	known = bpf_map_lookup_elem(&trace_links, &key);
	if (!known || !known->link)
		return 0;
	if (take_link_put(known, thread, id, &by))
		take_link_put(known, thread, id, &by);
	known->sent_ns = bpf_ktime_get_ns();
	if (!read_from(&io, sizeof(io), channel + CHANNEL_IO) && !read_from(&part, sizeof(part), io + NCIU_NAME) &&
	    is_remote(known, io, part.name))
		return add_send(known, &key, part.sid, &by);
	/* The IOC's own PV: this thread does it, within this call. */
	bpf_map_update_elem(&trace_own_puts, &id, &by, BPF_ANY);
	return 0;
}

static __always_inline int on_link_put(struct pt_regs *ctx, __u8 attach)
{
	__u64 id = bpf_get_current_pid_tgid();
	struct iocx_ioc_config *config;

	if (cfg_traces && counted_thread(ctx, id, &config, attach))
		trace_link_put(id, PT_REGS_PARM1(ctx));
	return 0;
}

static __always_inline int on_link_send(struct pt_regs *ctx, __u8 attach)
{
	__u64 id = bpf_get_current_pid_tgid();
	struct iocx_ioc_config *config;

	if (cfg_traces && counted_thread(ctx, id, &config, attach))
		trace_link_send(id, PT_REGS_PARM3(ctx));
	return 0;
}

ENTRY_PROGRAMS(link_put, on_link_put)
ENTRY_PROGRAMS(link_send, on_link_send)

#endif
