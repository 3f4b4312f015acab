/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Counts of records that are called often: each has a line of its own in an array, in the order in which records are
 * processed. A thread expects the line that came next the last time, so that most calls touch nothing else.
 *
 * A line is made, and used, under its record's lock only. Threads take chunks of lines. A record that is asynchronous,
 * or that was called while it was active, has none.
 */
#ifndef IOC_EXPORTER_BPF_RECORD_LINES_H
#define IOC_EXPORTER_BPF_RECORD_LINES_H

/* Chunks of lines less one: a power of two less one. User space sets the sizes of the arrays before it loads. */
const volatile __u32 chunk_mask = 0;

MAPPED_ARRAY(record_lines, 1, struct iocx_record_line);

MAPPED_ARRAY(line_times, 1, struct iocx_line_times);

MAPPED_ARRAY(line_chunks, 1, struct iocx_line_chunk);

/* Where to look for a free chunk. Written without atomics: any value does. */
MAP(next_chunk, ARRAY, 1, __u32, __u32);

#define CALLS_BEFORE_LINE 16
#define CALLS_BETWEEN_TRIES 1024
#define CHUNKS_TO_TRY 4

/* The line, if it is of this record of that IOC. */
static __always_inline struct iocx_record_line *line_at(__u32 index, __u32 generation, __u64 record)
{
	struct iocx_record_line *line = bpf_map_lookup_elem(&record_lines, &index);

	return line && line->record == record && line->generation == generation ? line : NULL;
}

/*
 * Takes a chunk for the thread. Two CPUs that take the same one see so, and both leave it; it is of no use until the
 * exporter ends. Kernels before 5.12 have no other atomic operation than to add.
 */
static __noinline int take_chunk(struct iocx_thread *thread)
{
	__u32 *hint = only_element(&next_chunk), index, i;
	struct iocx_line_chunk *chunk;

	if (!thread || !hint || !take_place(IOCX_HELD_LINES, thread->holder))
		return 0;
	for (i = 0; i < CHUNKS_TO_TRY; i++) {
		index = *hint & chunk_mask;
		*hint = index + 1;
		chunk = bpf_map_lookup_elem(&line_chunks, &index);
		if (!chunk || chunk->claims)
			continue;
		__sync_fetch_and_add(&chunk->claims, 1);
		if (*(volatile __u64 *)&chunk->claims != 1)
			continue;
		chunk->generation = thread->generation;
		thread->lines.fresh = index * IOCX_CHUNK_LINES;
		thread->lines.fresh_end = (index + 1) * IOCX_CHUNK_LINES;
		return 1;
	}
	give_place(IOCX_HELD_LINES, thread->holder);
	return 0;
}

/* Makes a line for the record, which has none. Its calls are counted there from now on. */
static __noinline int make_line(struct iocx_thread *thread, struct iocx_record_stats *stats, __u64 record)
{
	struct iocx_record_line *line;
	struct iocx_line_chunk *chunk;
	struct iocx_line_times *times;
	__u32 index, of;

	if (!thread || !stats || stats->asynchronous || stats->skipped_active)
		return 0;
	if (thread->lines.fresh >= thread->lines.fresh_end && !take_chunk(thread))
		return 0;
	index = thread->lines.fresh;
	of = index / IOCX_CHUNK_LINES;
	line = bpf_map_lookup_elem(&record_lines, &index);
	times = bpf_map_lookup_elem(&line_times, &index);
	chunk = bpf_map_lookup_elem(&line_chunks, &of);
	/* Not the thread's any more: a call ends whose IOC is not watched any more. */
	if (!line || !times || !chunk || chunk->generation != thread->generation)
		return 0;
	thread->lines.fresh = index + 1;
	line->next = index + 1; /* to begin with */
	line->severity = stats->severity;
	line->ends = stats->ends;
	/* It was emptied when it was given back, but a call of the IOC before may have ended since. */
	line->untimed = 0;
	line->left = 0;
	__builtin_memset(times, 0, sizeof(*times));
	line->generation = thread->generation;
	barrier(); /* with a record, it counts */
	line->record = record;
	stats->line = index + 1;
	return 0;
}

/* At some calls of a record that has no line. */
static __always_inline void try_for_line(struct iocx_thread *thread, struct iocx_record_stats *stats, __u64 record)
{
	if (stats->processed % CALLS_BETWEEN_TRIES == CALLS_BEFORE_LINE)
		make_line(thread, stats, record);
}

/* What is known of the record in a line that counts no more. */
static __always_inline void take_from_line(struct iocx_record_stats *stats, const struct iocx_record_line *line)
{
	stats->severity = line->severity;
	stats->ends = line->ends;
}

/* The line of the record, where it has one. What is known in one that counts no more goes to the record's counts. */
static __always_inline struct iocx_record_line *line_of(__u32 generation, struct iocx_record_stats *stats, __u64 record)
{
	struct iocx_record_line *line;

	if (!stats->line)
		return NULL;
	line = line_at(stats->line - 1, generation, record);
	if (line && !line->left)
		return line;
	if (line)
		take_from_line(stats, line);
	stats->line = 0;
	return NULL;
}

/* Counts a processing by a thread that has no stack: its cause is IOCX_CAUSE_OTHER. `ends`: of the IOC now. */
static __noinline int count_threadless(__u32 slot, __u32 generation, __u64 record, __u16 ends)
{
	struct iocx_record_stats *stats = stats_of(slot, record);
	struct iocx_asynchronous *counts = bpf_map_lookup_elem(&ioc_asynchronous, &slot);
	struct iocx_record_line *line;

	if (!stats || !counts)
		return 0;
	stats->processed += 1;
	stats->untimed += 1;
	line = line_of(generation, stats, record);
	*(line ? &line->ends : &stats->ends) = ends;
	__sync_fetch_and_add(&counts->threadless, 1);
	return 0;
}

/* The thread will expect the line at `index` after the one that it was at before. */
static __always_inline void learn_order(struct iocx_thread *thread, __u32 index, const struct iocx_record_line *line)
{
	__u32 before = thread->lines.last;
	struct iocx_record_line *last = bpf_map_lookup_elem(&record_lines, &before);

	if (last && last->generation == thread->generation)
		last->next = index;
	thread->lines.last = index;
	thread->lines.next = line->next;
}

/* The line that the thread expects, if it is that of the record. */
static __always_inline struct iocx_record_line *expected_line(struct iocx_thread *thread, __u64 record)
{
	__u32 index = thread->lines.next;
	struct iocx_record_line *line = line_at(index, thread->generation, record);

	if (!line || line->left)
		return NULL;
	thread->lines.last = index;
	thread->lines.next = line->next;
	return line;
}

/* The record's calls are counted one by one from now on. */
static __noinline int leave_line(const struct iocx_thread *thread, __u64 record)
{
	struct iocx_record_stats *stats = thread ? stats_of(thread->slot, record) : NULL;
	struct iocx_record_line *line = stats ? line_of(thread->generation, stats, record) : NULL;

	if (!line)
		return 0;
	line->left = 1;
	take_from_line(stats, line);
	stats->line = 0;
	return 0;
}

static __always_inline int count_in_line(struct iocx_thread *thread, struct iocx_record_line *line, __u64 record,
					 __u64 parent, __u32 severity)
{
	line->untimed += 1;
	line->ends = thread->ends;
	count_transition(thread, &line->severity, severity);
	count_by_cause(thread, record, parent);
	return 0;
}

/* The expected line of the record, or where its counts say that it is; NULL: it has none, its counts are in `stats`. */
static __always_inline struct iocx_record_line *find_line(struct iocx_thread *thread, __u64 record,
							  struct iocx_record_stats **stats)
{
	struct iocx_record_line *line = expected_line(thread, record);

	*stats = NULL;
	if (line)
		return line;
	*stats = stats_of(thread->slot, record);
	if (!*stats)
		return NULL;
	line = line_of(thread->generation, *stats, record);
	if (line)
		learn_order(thread, (*stats)->line - 1, line);
	return line;
}

/* Counts a timed processing. Returns 0 when there is no slot for the bucket. */
static __noinline int add_to_slot(struct iocx_line_times *times, __u32 bucket, __u32 weight)
{
	const __u32 mine = IOCX_LINE_SLOT(bucket);
	__u32 i, slot;

	if (!times || weight > IOCX_LINE_SLOT_MOST)
		return 0;
	for (i = 0; i < IOCX_LINE_SLOTS; i++) {
		slot = times->slots[i];
		if (!slot)
			slot = mine;
		else if ((slot & ~IOCX_LINE_SLOT_MOST) != mine)
			continue;
		if ((slot & IOCX_LINE_SLOT_MOST) + weight > IOCX_LINE_SLOT_MOST)
			return 0;
		times->slots[i] = slot + weight;
		return 1;
	}
	return 0;
}

/* Counts a timed processing in the record's own histogram alone. */
static __noinline int count_in_bucket(__u32 slot, __u64 record, __u32 bucket, __u32 weight)
{
	struct iocx_record_stats *stats = stats_of(slot, record);

	if (stats)
		add_to_bucket(stats, bucket, weight);
	return 0;
}

/* Counts a processing without a duration. `severity`: at its entry; IOCX_SEVERITIES when that is not known. */
static __noinline int count_elsewhere(struct iocx_thread *thread, __u64 record, __u64 parent, __u32 severity)
{
	struct iocx_record_stats *stats;
	struct iocx_record_line *line;

	if (!thread)
		return 0;
	stats = stats_of(thread->slot, record);
	if (!stats)
		return 0;
	line = line_of(thread->generation, stats, record);
	if (line) {
		learn_order(thread, stats->line - 1, line);
		return count_in_line(thread, line, record, parent, severity);
	}
	count_untimed_in(thread, stats, record, parent, severity);
	try_for_line(thread, stats, record);
	return 0;
}

/* Counts a processing whose end will not be seen. `severity`: at its entry. */
static __always_inline int count_at_entry(struct iocx_thread *thread, __u64 record, __u64 parent, __u32 severity)
{
	struct iocx_record_line *line = expected_line(thread, record);

	if (line)
		return count_in_line(thread, line, record, parent, severity);
	return count_elsewhere(thread, record, parent, severity);
}

#endif
