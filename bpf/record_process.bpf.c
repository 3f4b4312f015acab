// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
/*
 * Counts and times every dbProcess() of the watched IOCs, per record.
 *
 * An entry and a return probe keep a stack of frames for each thread, since dbProcess recurses through
 * links. A frame knows the stack pointer of its call: that tells which frame a return belongs to, so that
 * a return probe that the kernel dropped, a probe that was detached in the middle of a call, and two
 * attachments that see the same call do no harm.
 *
 * A call is not a processing (Base, dbAccess.c): with PACT set it returns at once; when DISA equals DISV
 * after SDIS was read it sets STAT to DISABLE and returns.
 *
 * Only pt_regs are touched, no kernel structs; helpers are those of Linux 5.10. A record's counts need no
 * atomics: dbProcess is called with the record's lock set locked, and both probes run within the call.
 */
#include <linux/types.h>
#include <linux/ptrace.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "shared/histogram.h"
#include "shared/record_process.h"
#include "record_process_maps.bpf.h"

/* What `ret` pops: the stack pointer that a return probe sees, less that at entry. */
#if defined(__TARGET_ARCH_x86)
#define RETURN_ADDRESS_SIZE 8
#else
#define RETURN_ADDRESS_SIZE 0
#endif

#define MENU_ALARM_STAT_DISABLE 18 /* menuAlarmStat.dbd, the same from 3.14 to 7.0 */
#define LINK_TYPE_CONSTANT 0       /* link.h, CONSTANT */

static __always_inline void drop(__u32 reason)
{
	__u64 *count = bpf_map_lookup_elem(&record_drops, &reason);

	if (count)
		*count += 1;
}

/* The record's counts; made when it is processed for the first time. NULL: counted as dropped. */
static __always_inline struct iocx_record_stats *stats_of(__u32 slot, __u64 record)
{
	struct iocx_record_stats *stats, *zero;
	__u32 first = 0;
	void *records;

	records = bpf_map_lookup_elem(&ioc_records, &slot);
	if (!records) {
		drop(IOCX_RECORD_DROP_NO_MAP);
		return NULL;
	}
	stats = bpf_map_lookup_elem(records, &record);
	if (stats)
		return stats;
	zero = bpf_map_lookup_elem(&zero_stats, &first);
	if (!zero)
		return NULL;
	bpf_map_update_elem(records, &record, zero, BPF_NOEXIST);
	stats = bpf_map_lookup_elem(records, &record);
	if (!stats)
		drop(IOCX_RECORD_DROP_RECORDS_FULL);
	return stats;
}

static __noinline int count_untimed(__u32 slot, __u64 record)
{
	struct iocx_record_stats *stats = stats_of(slot, record);

	if (stats)
		stats->untimed += 1;
	return 0;
}

/* The thread's own stack, if it has one. */
static __always_inline struct iocx_thread *thread_of(__u64 id)
{
	__u32 index = (__u32)id & thread_mask;
	struct iocx_thread *thread = bpf_map_lookup_elem(&record_threads, &index);

	if (thread && thread->owner == id)
		return thread;
	return bpf_map_lookup_elem(&record_threads_overflow, &id);
}

/* A stack for a thread that has none: its place in the array, or else one in the hash. */
static __always_inline struct iocx_thread *make_thread(__u64 id)
{
	__u32 index = (__u32)id & thread_mask, first = 0;
	struct iocx_thread *thread;
	void *zero;

	if (!bpf_map_update_elem(&record_thread_owners, &index, &id, BPF_NOEXIST)) {
		thread = bpf_map_lookup_elem(&record_threads, &index);
		if (thread)
			thread->owner = id;
		return thread;
	}
	zero = bpf_map_lookup_elem(&zero_thread, &first);
	if (!zero)
		return NULL;
	bpf_map_update_elem(&record_threads_overflow, &id, zero, BPF_NOEXIST);
	thread = bpf_map_lookup_elem(&record_threads_overflow, &id);
	if (!thread)
		drop(IOCX_RECORD_DROP_THREADS_FULL);
	return thread;
}

/*
 * Binds the thread's stack to the IOC that its process is now; 0 when it is not watched, a negative
 * number when there is no room for another stack. Such a process
 * only pays for a few look-ups, and that only where a library's probes are attached for all processes.
 */
static __noinline int bind_thread(__u64 id)
{
	__u32 tgid = id >> 32;
	struct iocx_ioc_config *config;
	struct iocx_thread *thread;
	__u32 *slot;

	slot = bpf_map_lookup_elem(&ioc_by_tgid, &tgid);
	if (!slot)
		return 0;
	config = bpf_map_lookup_elem(&ioc_config, slot);
	if (!config || config->tgid != tgid)
		return 0;
	thread = thread_of(id);
	if (!thread)
		thread = make_thread(id);
	if (!thread)
		return -1;
	thread->slot = *slot;
	thread->generation = config->generation;
	thread->depth = 0; /* frames of an earlier process with the same ids mean nothing now */
	return 1;
}

/*
 * Frames of calls that are over without their return probe: they lie at or below `sp` (stacks grow
 * down). Rare (a thread that was ended, a probe detached meanwhile): counted, without a duration.
 */
static __noinline int discard_frames(struct iocx_thread *thread, __u64 sp)
{
	__u32 depth, i;

	if (!thread)
		return 0;
	depth = thread->depth;
	for (i = 0; i < IOCX_MAX_DEPTH; i++) {
		struct iocx_frame *frame;

		if (depth == 0 || depth > IOCX_MAX_DEPTH)
			break;
		frame = &thread->frames[(depth - 1) & (IOCX_MAX_DEPTH - 1)];
		if (frame->sp > sp)
			break;
		if (!(frame->record & IOCX_FRAME_SKIPPED)) {
			drop(IOCX_RECORD_DROP_LOST_RETURN);
			count_untimed(thread->slot, frame->record & ~IOCX_FRAME_FLAGS);
		}
		depth--;
	}
	thread->depth = depth;
	return 0;
}

static __noinline int count_skipped(__u32 slot, __u64 record, __u32 disabled)
{
	struct iocx_record_stats *stats = stats_of(slot, record);

	if (!stats)
		return 0;
	if (disabled)
		stats->skipped_disabled += 1;
	else
		stats->skipped_active += 1;
	return 0;
}

enum verdict { PROCESSES, IS_ACTIVE, IS_DISABLED, UNDECIDED };

/*
 * What a call will do, from one read of the fields' window. `pact` is the window's last byte: a constant,
 * so that the window can stand on the stack on kernels that know no variable offsets there.
 */
static __always_inline enum verdict verdict_from(const char *window, __u32 pact)
{
	__s16 disv = *(__s16 *)window, disa = *(__s16 *)(window + IOCX_WINDOW_DISA);
	__s16 sdis_type = *(__s16 *)(window + IOCX_WINDOW_SDIS_TYPE);

	if (window[pact])
		return IS_ACTIVE;
	if (sdis_type != LINK_TYPE_CONSTANT)
		return UNDECIDED; /* dbProcess reads DISA through the link now */
	return disa == disv ? IS_DISABLED : PROCESSES;
}

static __always_inline enum verdict verdict_of(const struct iocx_ioc_config *config, __u64 record)
{
	/* Starts so that DISV, DISA and the type are aligned; the first two bytes are not used. */
	struct {
		char unused[2];
		char window[240];
		char end[6];
	} __attribute__((aligned(8))) fields;
	__u8 pact = 0;

	if (config->layout == IOCX_LAYOUT_240) {
		if (!bpf_probe_read_user(fields.window, 240, (void *)(record + config->disv)))
			return verdict_from(fields.window, 239);
	} else if (config->layout == IOCX_LAYOUT_160) {
		if (!bpf_probe_read_user(fields.window, 160, (void *)(record + config->disv)))
			return verdict_from(fields.window, 159);
	} else if (!bpf_probe_read_user(&pact, sizeof(pact), (void *)(record + config->pact))) {
		return pact ? IS_ACTIVE : UNDECIDED;
	}
	drop(IOCX_RECORD_DROP_READ);
	return UNDECIDED;
}

/*
 * A call of a thread that has no stack: counted, without a duration, by what is known at its entry. Reads
 * the fields one by one: on_entry() above it has most of the BPF stack.
 */
static __noinline int count_without_stack(__u64 id, __u64 record, __u32 attach)
{
	__u32 tgid = id >> 32;
	struct iocx_ioc_config *config;
	__s16 disable[2] = {0, 1}, link = LINK_TYPE_CONSTANT + 1;
	__u8 pact = 0;
	__u32 *slot;

	slot = bpf_map_lookup_elem(&ioc_by_tgid, &tgid);
	config = slot ? bpf_map_lookup_elem(&ioc_config, slot) : NULL;
	if (!config || !slot)
		return 0;
	/* While both kinds of attachment are on, one of them counts. */
	if (!(config->attach & attach) || (attach == IOCX_ATTACH_ALL && config->attach != attach))
		return 0;
	bpf_probe_read_user(&pact, sizeof(pact), (void *)(record + config->pact));
	if (!pact && config->layout != IOCX_LAYOUT_ANY) {
		bpf_probe_read_user(disable, sizeof(disable), (void *)(record + config->disv));
		bpf_probe_read_user(&link, sizeof(link),
				    (void *)(record + config->disv + IOCX_WINDOW_SDIS_TYPE));
	}
	if (pact || (link == LINK_TYPE_CONSTANT && disable[0] == disable[1]))
		count_skipped(*slot, record, !pact);
	else
		count_untimed(*slot, record);
	return 0;
}

static __always_inline int on_entry(struct pt_regs *ctx, __u8 attach)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u64 sp = PT_REGS_SP(ctx), record = PT_REGS_PARM1(ctx);
	struct iocx_ioc_config *config = NULL;
	struct iocx_thread *thread;
	struct iocx_frame *frame;
	enum verdict verdict;
	__u64 flags;
	__u32 depth;
	int bound;

	thread = thread_of(id);
	if (thread)
		config = bpf_map_lookup_elem(&ioc_config, &thread->slot);
	if (!thread || !config || config->generation != thread->generation) {
		bound = bind_thread(id);
		if (bound < 0)
			count_without_stack(id, record, attach);
		if (bound <= 0)
			return 0;
		thread = thread_of(id);
		if (!thread)
			return 0;
		config = bpf_map_lookup_elem(&ioc_config, &thread->slot);
		if (!config)
			return 0;
	}
	if (!(config->attach & attach))
		return 0;

	depth = thread->depth;
	if (depth > 0 && depth <= IOCX_MAX_DEPTH &&
	    thread->frames[(depth - 1) & (IOCX_MAX_DEPTH - 1)].sp <= sp) {
		/* While both kinds of attachment are on, the second one sees a call that is on the stack. */
		if (thread->frames[(depth - 1) & (IOCX_MAX_DEPTH - 1)].sp == sp &&
		    config->attach == (IOCX_ATTACH_PROCESS | IOCX_ATTACH_ALL))
			return 0;
		discard_frames(thread, sp);
		depth = thread->depth;
	}

	verdict = verdict_of(config, record);
	flags = verdict == UNDECIDED ? IOCX_FRAME_UNDECIDED : 0;
	if (verdict == IS_ACTIVE || verdict == IS_DISABLED) {
		count_skipped(thread->slot, record, verdict == IS_DISABLED);
		flags = IOCX_FRAME_SKIPPED;
	}
	if (depth >= IOCX_MAX_DEPTH) {
		if (!(flags & IOCX_FRAME_SKIPPED))
			count_untimed(thread->slot, record);
		return 0;
	}
	frame = &thread->frames[depth & (IOCX_MAX_DEPTH - 1)];
	frame->sp = sp;
	frame->record = record | flags;
	frame->child_ns = 0;
	thread->depth = depth + 1;
	frame->start_ns = bpf_ktime_get_ns();
	return 0;
}

/* Whether the call that returns now found its record disabled. */
static __always_inline int was_disabled(const struct iocx_ioc_config *config, __u64 record)
{
	__s16 disable[2] = {0, 1}; /* DISV and DISA, which are neighbours in every version of Base */
	__u16 stat = 0;
	__u8 pact = 0;

	if (config->disa == config->disv + 2) {
		if (bpf_probe_read_user(disable, sizeof(disable), (void *)(record + config->disv)))
			drop(IOCX_RECORD_DROP_READ);
	} else {
		if (bpf_probe_read_user(&disable[0], 2, (void *)(record + config->disv)) ||
		    bpf_probe_read_user(&disable[1], 2, (void *)(record + config->disa)))
			drop(IOCX_RECORD_DROP_READ);
	}
	if (disable[0] != disable[1])
		return 0;
	/*
	 * A record may have set its own DISA while it was processed: then its alarm status is not
	 * DISABLE, or it is asynchronous and still active. A disabled call leaves DISABLE and no PACT.
	 */
	if (bpf_probe_read_user(&stat, sizeof(stat), (void *)(record + config->stat)) ||
	    bpf_probe_read_user(&pact, sizeof(pact), (void *)(record + config->pact)))
		drop(IOCX_RECORD_DROP_READ);
	return stat == MENU_ALARM_STAT_DISABLE && !pact;
}

SEC("uprobe")
int record_entry_process(struct pt_regs *ctx)
{
	return on_entry(ctx, IOCX_ATTACH_PROCESS);
}

SEC("uprobe")
int record_entry_all(struct pt_regs *ctx)
{
	return on_entry(ctx, IOCX_ATTACH_ALL);
}

/* Pops the frame of the call that returns to `sp`; NULL when there is none on the stack. */
static __always_inline struct iocx_frame *pop_frame(struct iocx_thread *thread, __u64 sp)
{
	struct iocx_frame *frame;
	__u32 depth = thread->depth;

	if (depth == 0 || depth > IOCX_MAX_DEPTH)
		return NULL;
	frame = &thread->frames[(depth - 1) & (IOCX_MAX_DEPTH - 1)];
	if (frame->sp < sp) {
		discard_frames(thread, sp - 1);
		depth = thread->depth;
		if (depth == 0 || depth > IOCX_MAX_DEPTH)
			return NULL;
		frame = &thread->frames[(depth - 1) & (IOCX_MAX_DEPTH - 1)];
	}
	if (frame->sp != sp) /* a call that was not pushed, or that another attachment has popped */
		return NULL;
	thread->depth = depth - 1;
	return frame;
}

SEC("uretprobe")
int record_return(struct pt_regs *ctx)
{
	__u64 now = bpf_ktime_get_ns();
	__u64 id = bpf_get_current_pid_tgid();
	struct iocx_record_stats *stats;
	struct iocx_ioc_config *config;
	struct iocx_thread *thread;
	struct iocx_frame *frame;
	__u64 duration, record;
	__u32 depth, slot;

	thread = thread_of(id);
	if (!thread)
		return 0;
	frame = pop_frame(thread, PT_REGS_SP(ctx) - RETURN_ADDRESS_SIZE);
	if (!frame || frame->record & IOCX_FRAME_SKIPPED)
		return 0;
	record = frame->record & ~IOCX_FRAME_FLAGS;
	if (frame->record & IOCX_FRAME_UNDECIDED) {
		config = bpf_map_lookup_elem(&ioc_config, &thread->slot);
		if (config && was_disabled(config, record)) {
			count_skipped(thread->slot, record, 1);
			return 0;
		}
	}
	stats = stats_of(thread->slot, record);
	if (!stats)
		return 0;
	duration = now - frame->start_ns;
	slot = iocx_hist_slot(duration);
	if (slot >= IOCX_HIST_SLOTS)
		return 0;
	stats->sum_ns += duration;
	stats->self_ns += duration > frame->child_ns ? duration - frame->child_ns : 0;
	stats->buckets[slot] += 1;
	depth = thread->depth;
	if (depth > 0 && depth <= IOCX_MAX_DEPTH)
		thread->frames[(depth - 1) & (IOCX_MAX_DEPTH - 1)].child_ns += duration;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
