/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* Links from record to record that no nested dbProcess shows: forward links of asynchronous records, and scanOnce. */
#ifndef IOC_EXPORTER_BPF_RECORD_LINKS_H
#define IOC_EXPORTER_BPF_RECORD_LINKS_H

/* recGblFwdLink(record), which is not within its dbProcess. */
static __always_inline void note_forward_link(struct pt_regs *ctx, struct iocx_thread *thread, __u64 record)
{
	thread->links.sp = PT_REGS_SP(ctx);
	thread->links.returns_to = return_address(ctx);
	thread->links.record = record;
}

/* The PV of a link of the record, by dbCa's struct caLink (since 3.16), which the link leads to. 0: it is none. */
static __noinline __u64 source_of_event(__u64 record, __u64 ca_link)
{
	char pv[IOCX_LINK_NAME + 3] = {};
	struct ca_link_head head = {};
	__u64 owner = 0, back = 0;

	if (!ca_link || read_from(&head, sizeof(head), ca_link + CA_LINK_HEAD) ||
	    read_from(&owner, sizeof(owner), head.link) || owner != record ||
	    read_from(&back, sizeof(back), head.link + LINK_PRIVATE) || back != ca_link ||
	    bpf_probe_read_user_str(pv, sizeof(pv), (const void *)head.pv) <= 0)
		return 0;
	return iocx_link_source(pv);
}

/* What dbProcess() leaves to its caller. */
#if defined(__TARGET_ARCH_x86)
#define KEPT_REGISTERS(ctx)                                                            \
	{                                                                              \
		(ctx)->rbx, (ctx)->rbp, (ctx)->r12, (ctx)->r13, (ctx)->r14, (ctx)->r15 \
	}
#else
#define KEPT(ctx, n) (((const struct user_pt_regs *)(ctx))->regs[n])
#define KEPT_REGISTERS(ctx)                                                                               \
	{                                                                                                 \
		KEPT(ctx, 19), KEPT(ctx, 20), KEPT(ctx, 21), KEPT(ctx, 22), KEPT(ctx, 23), KEPT(ctx, 24), \
			KEPT(ctx, 25), KEPT(ctx, 26), KEPT(ctx, 27), KEPT(ctx, 28)                        \
	}
#endif

/*
 * The PV of the CP or CPP link for which dbCa's own thread processes the record (dbCaTask() of 7.0.10): it has the struct
 * caLink at hand, also afterwards.
 */
static __noinline __u64 source_of_task(struct pt_regs *ctx, __u64 record)
{
	const __u64 kept[] = KEPT_REGISTERS(ctx);
	__u64 source;
	__u32 i;

	for (i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
		source = source_of_event(record, kept[i]);
		if (source)
			return source;
	}
	count_drop(IOCX_RECORD_DROP_LINKS_UNKNOWN);
	return 0;
}

/* A dbProcess begins: which record makes it though no dbProcess of that one is under way. */
static __noinline int settle_links(struct pt_regs *ctx, struct iocx_thread *thread,
				   const struct iocx_ioc_config *config, __u64 record)
{
	struct iocx_thread_links *links;

	if (!thread || !config || thread->depth)
		return 0;
	links = &thread->links;
	links->continues = 0;
	if (COMM_STARTS(thread->comm, "dbCaLink")) {
		/* A write to a record of the same IOC is none of a CP link. */
		if (!is_within(ctx, &thread->puts.inside, config, NULL))
			links->continues = source_of_task(ctx, record);
	} else if (links->record && PT_REGS_SP(ctx) < links->sp && read_pact(config, links->record) &&
		   !return_is_gone(links->sp, links->returns_to, CALLERS(ctx)))
		links->continues = links->record;
	links->record = 0;
	return 0;
}

/* scanOnceCallback(record, callback, argument), which scanOnce() leads to; before 3.16 scanOnce(record). */
static __always_inline int on_once(struct pt_regs *ctx, __u8 attach)
{
	__u64 record = PT_REGS_PARM1(ctx), source;
	struct iocx_ioc_config *config;
	struct iocx_thread *thread;
	struct iocx_frame *frame;

	thread = counted_thread(ctx, bpf_get_current_pid_tgid(), &config, attach, IOCX_PROBE_ONCE);
	if (!cfg_links || !thread)
		return 0;
	frame = live_frame(thread, config, ctx);
	/* For CP and CPP links dbCa passes its struct caLink on (dbCa.c, scanLinkOnce, from 3.16 to 7.0.8). */
	source = frame ? frame->record : source_of_event(record, PT_REGS_PARM3(ctx));
	if (source && source != record) /* a record that was active asks for itself (RPRO) */
		count_link(thread, record, source);
	return 0;
}

ENTRY_PROGRAMS(once, on_once)

#endif
