/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Puts through Channel Access links: a span of the chain whose record puts. dbCaPutLinkCallback() notes the value in the link
 * (struct caLink, dbCaPvt.h); the thread dbCaLink sends it later. The span has the PV, and whether the link could send.
 *
 * Base has had two layouts: before 3.16, and since. Which one it is shows in the pointer back to the link.
 */
#ifndef IOC_EXPORTER_BPF_TRACES_LINKS_BPF_H
#define IOC_EXPORTER_BPF_TRACES_LINKS_BPF_H

/* struct link: value.pv_link.pvt */
#define LINK_PRIVATE 56
#define LINK_PRIVATE_BEFORE_3_16 16
/* struct caLink, since 3.16: plink, pvname, chid; whether it is connected and may write. */
#define CA_LINK_HEAD 32
#define CA_LINK_STATE 113
/* The same, before. */
#define CA_LINK_HEAD_BEFORE_3_16 24
#define CA_LINK_STATE_BEFORE_3_16 81

struct ca_link_head {
	__u64 link;
	__u64 pv;
	__u64 channel;
};

MAP(trace_links, LRU_HASH, IOCX_TRACE_LINKS, struct iocx_trace_link_key, struct iocx_trace_link);

static __always_inline int read_from(void *to, __u32 size, __u64 address)
{
	return bpf_probe_read_user(to, size, (const void *)address);
}

/* Finds the caLink of a link, and its state: connected, may write. 0: it has none, or cannot be read. */
static __always_inline int read_ca_link(__u64 link, struct ca_link_head *head, __u8 state[2])
{
	__u64 ca_link = 0;

	if (!read_from(&ca_link, sizeof(ca_link), link + LINK_PRIVATE) &&
	    !read_from(head, sizeof(*head), ca_link + CA_LINK_HEAD) && head->link == link)
		return !read_from(state, 2, ca_link + CA_LINK_STATE);
	if (!read_from(&ca_link, sizeof(ca_link), link + LINK_PRIVATE_BEFORE_3_16) &&
	    !read_from(head, sizeof(*head), ca_link + CA_LINK_HEAD_BEFORE_3_16) && head->link == link)
		return !read_from(state, 2, ca_link + CA_LINK_STATE_BEFORE_3_16);
	return 0;
}

/* A record puts through `link`. */
__noinline int trace_link_put(__u64 id, __u64 link)
{
	struct iocx_trace_link_key key = {};
	struct iocx_trace_link named = {};
	struct ca_link_head head = {};
	struct iocx_trace_thread *trace;
	struct iocx_thread *thread;
	__u8 state[2] = {};
	__u16 parent;

	asm volatile("" : "+r"(link));
	if (!cfg_traces)
		return 0;
	trace = open_trace(id);
	thread = traced_thread(id);
	if (!trace || !thread)
		return 0;
	if (!read_ca_link(link, &head, state)) {
		count_trace(IOCX_TRACE_DROP_LINK_UNREADABLE);
		return 0;
	}
	parent = start_inner_span(trace, thread);
	if (!parent)
		return 0;
	key.channel = head.channel;
	key.generation = thread->generation;
	/* Each time: another link may have got this one's memory. */
	if (bpf_probe_read_user_str(named.pv, sizeof(named.pv), (const void *)head.pv) > 0)
		bpf_map_update_elem(&trace_links, &key, &named, BPF_ANY);
	add_moment(trace, id, head.channel, bpf_ktime_get_ns(), parent,
		   IOCX_TRACE_SPAN_LINK | (state[0] && state[1] ? 0 : IOCX_TRACE_SPAN_NOT_SENT));
	return 0;
}

static __always_inline int on_link_put(struct pt_regs *ctx, __u8 attach)
{
	__u64 id = bpf_get_current_pid_tgid();
	struct iocx_ioc_config *config;

	if (cfg_traces && counted_thread(ctx, id, &config, attach, IOCX_PROBE_LINK_PUT))
		trace_link_put(id, PT_REGS_PARM1(ctx));
	return 0;
}

/*
 * dbPutLink(link, ...): whose link it is stands at its begin since 3.16, before that in its value (link.h, pv_link.precord).
 * Neither can be taken for the other: only addresses of active records count.
 */
static __always_inline int on_link_step(struct pt_regs *ctx, __u8 attach)
{
	__u64 id = bpf_get_current_pid_tgid(), records[2] = {};
	struct iocx_ioc_config *config;
	struct iocx_thread *thread;

	if (!cfg_traces)
		return 0;
	thread = counted_thread(ctx, id, &config, attach, IOCX_PROBE_LINK_STEP);
	if (!thread || live_frame(thread, config, ctx) || read_from(records, sizeof(records), PT_REGS_PARM1(ctx)))
		return 0;
	if (!trace_step(id, records[0], PT_REGS_SP(ctx), return_address(ctx)))
		trace_step(id, records[1], PT_REGS_SP(ctx), return_address(ctx));
	return 0;
}

ENTRY_PROGRAM(link_put, on_link_put)
ENTRY_PROGRAM(link_step, on_link_step)

#endif
