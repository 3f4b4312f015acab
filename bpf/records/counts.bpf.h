/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Counts of records, and of threads, which stand for causes. All programs count processings with one function,
 * count_processed(), so that the sums over records and over causes are equal.
 */
#ifndef IOC_EXPORTER_BPF_RECORD_COUNTS_H
#define IOC_EXPORTER_BPF_RECORD_COUNTS_H

static __always_inline void count_drop(enum iocx_record_drop reason)
{
	add_to_counter(&record_drops, reason, 1);
}

/*
 * Adds a copy of `fresh` for the record to a map that has `room`. Returns 1; 0, counted as dropped, when there is no
 * room. Two CPUs that add at the same time may take one entry more than there is.
 */
static __always_inline int add_within(struct iocx_room *room, void *map, const __u64 *record, const void *fresh)
{
	long err;

	if (room->used >= room->limit) {
		__sync_fetch_and_add(&room->refused, 1);
		count_drop(IOCX_RECORD_DROP_MEMORY);
		return 0;
	}
	err = bpf_map_update_elem(map, record, fresh, BPF_NOEXIST);
	if (!err)
		__sync_fetch_and_add(&room->used, 1);
	else if (err == -ENOMEM)
		count_drop(IOCX_RECORD_DROP_MEMORY);
	else if (err != -EEXIST)
		count_drop(IOCX_RECORD_DROP_RECORDS_FULL);
	return !err || err == -EEXIST;
}

/* Makes counts for a record that is processed for the first time; not inline, so that other records do not pay. */
static __noinline int add_record(__u32 slot, __u64 record)
{
	const struct iocx_record_stats *zeroes = only_element(&zero_stats);
	struct iocx_room *room = bpf_map_lookup_elem(&record_rooms, &slot);
	void *records = bpf_map_lookup_elem(&ioc_records, &slot);

	if (!records || !room || !zeroes)
		return 0;
	return add_within(room, records, &record, zeroes);
}

/* The counts of the record, added when it is processed for the first time. NULL: counted as dropped. */
static __always_inline struct iocx_record_stats *stats_of(__u32 slot, __u64 record)
{
	struct iocx_record_stats *stats;
	void *records;

	records = bpf_map_lookup_elem(&ioc_records, &slot);
	if (!records) {
		count_drop(IOCX_RECORD_DROP_RECORDS_FULL);
		return NULL;
	}
	stats = bpf_map_lookup_elem(records, &record);
	if (stats)
		return stats;
	return add_record(slot, record) ? bpf_map_lookup_elem(records, &record) : NULL;
}

/* The IOC of a thread, as one number: what add_cause() takes. */
static __always_inline __u64 ioc_of_thread(const struct iocx_thread *thread)
{
	return (__u64)thread->generation << 32 | thread->slot;
}

/*
 * Adds a cause with the count 1. Nothing is added for an IOC that is not watched any more: it would never be removed. A
 * global function, as those of base/caps.bpf.h. `name`: both halves of iocx_cause_key.comm.
 */
__attribute__((noinline)) int add_cause(__u64 ioc, __u64 record, __u32 cause, __u64 name, __u64 name_too)
{
	struct iocx_cause_key key = {.record = record, .generation = ioc >> 32, .cause = cause};
	const __u32 slot = (__u32)ioc;
	const struct iocx_ioc_config *config = bpf_map_lookup_elem(&ioc_config, &slot);
	const __u64 one = 1;
	__u32 holder;

	if (!config || config->generation != key.generation)
		return 0;
	__builtin_memcpy(key.comm, &name, sizeof(name));
	__builtin_memcpy(key.comm + sizeof(name), &name_too, sizeof(name_too));
	holder = config->holder;
	if (take_place(IOCX_HELD_CAUSES, holder)) {
		if (!bpf_map_update_elem(&record_causes, &key, &one, BPF_NOEXIST))
			return 1;
		give_place(IOCX_HELD_CAUSES, holder);
	}
	count_drop(IOCX_RECORD_DROP_CAUSES_FULL);
	return 0;
}

/* For `parent` of a call that another record makes, when the stack of the thread does not hold that one. */
#define UNKNOWN_PARENT (~0ULL)

/* For `parent` of a processing whose cause is neither another record nor the purpose of the thread. */
#define BY_CAUSE(cause) ((__u64)(cause) | ~0xFFULL)
#define IS_BY_CAUSE(parent) ((parent) >= BY_CAUSE(0) && (parent) != UNKNOWN_PARENT)

static __always_inline void count_cause(struct iocx_thread *thread, __u64 record, __u64 parent)
{
	struct iocx_cause_key key = {.record = record, .generation = thread->generation};
	__u64 *count;

	key.cause = !parent ? thread->cause : IS_BY_CAUSE(parent) ? (__u32)(parent & 0xFF) : IOCX_CAUSE_LINK;
	if (key.cause == IOCX_CAUSE_SCAN)
		__builtin_memcpy(key.comm, thread->comm, sizeof(key.comm));
	count = bpf_map_lookup_elem(&record_causes, &key);
	if (count)
		*count += 1;
	else
		add_cause(ioc_of_thread(thread), record, key.cause, *(const __u64 *)key.comm,
			  *(const __u64 *)(key.comm + sizeof(__u64)));
}

/* Of a processing. `parent`: the record that processes this one; 0 when there is none; BY_CAUSE(). */
static __always_inline void count_by_cause(struct iocx_thread *thread, __u64 record, __u64 parent)
{
	if (!parent)
		thread->counts.roots += 1;
	else if (IS_BY_CAUSE(parent))
		thread->counts.by_cause[(parent - BY_CAUSE(IOCX_CAUSE_DIRECT)) & 3] += 1;
	else
		thread->counts.nested += 1;
	if (cfg_causes)
		count_cause(thread, record, parent);
}

static __always_inline void count_processed(struct iocx_thread *thread, struct iocx_record_stats *stats, __u64 record,
					    __u64 parent)
{
	stats->processed += 1;
	count_by_cause(thread, record, parent);
}

/*
 * The severity of a record when it is processed is the result of its last processing. `last`: 1 + that of the call
 * before; 0: not seen.
 */
static __always_inline void count_transition(struct iocx_thread *thread, __u8 *last, __u32 severity)
{
	if (severity >= IOCX_SEVERITIES)
		return;
	/* Hides the value from the compiler, which would leave out the mask that the verifier needs. */
	asm volatile("" : "+r"(severity));
	if (*last && *last != severity + 1)
		thread->counts.transitions[severity & (IOCX_SEVERITIES - 1)] += 1;
	*last = (__u8)(severity + 1);
}

/* `bucket` of iocx_hist_slot(). */
static __always_inline void add_to_bucket(struct iocx_record_stats *stats, __u64 bucket, __u32 weight)
{
	/* Hides the value from the compiler, which would check a copy of it: the verifier does not know them for the same. */
	asm volatile("" : "+r"(bucket));
	if (bucket < IOCX_HIST_SLOTS)
		stats->buckets[bucket] += weight;
}

/* One timed call more, or less, whose completion is still to come. */
static __noinline int count_pending(__u32 slot, int more)
{
	struct iocx_asynchronous *asynchronous = bpf_map_lookup_elem(&ioc_asynchronous, &slot);

	if (!asynchronous)
		return 0;
	if (more > 0)
		asynchronous->seen = 1;
	__sync_fetch_and_add(&asynchronous->pending, more);
	return 0;
}

/* The record processes again: what it was timed for before has completed, unseen. */
static __always_inline void forget_completion(__u32 slot, struct iocx_record_stats *stats)
{
	if (!stats->async_start_ns)
		return;
	stats->async_start_ns = 0;
	count_pending(slot, -1);
}

static __always_inline void count_untimed_in(struct iocx_thread *thread, struct iocx_record_stats *stats, __u64 record,
					     __u64 parent, __u32 severity)
{
	stats->untimed += 1;
	stats->ends = thread->ends;
	forget_completion(thread->slot, stats);
	count_transition(thread, &stats->severity, severity);
	count_processed(thread, stats, record, parent);
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

#endif
