/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * The threads of watched IOCs: finds the stack of a thread and binds it to its IOC; decides which of two attachments
 * counts a hit.
 */
#ifndef IOC_EXPORTER_BPF_RECORD_THREADS_H
#define IOC_EXPORTER_BPF_RECORD_THREADS_H

/* The stack of the thread, if it has one. */
static __always_inline struct iocx_thread *thread_of(__u64 id)
{
	__u32 index = (__u32)id & thread_mask;
	struct iocx_thread *thread = bpf_map_lookup_elem(&record_threads, &index);

	if (thread && thread->owner == id)
		return thread;
	return bpf_map_lookup_elem(&record_threads_overflow, &id);
}

/*
 * Makes a stack for a thread: its element of the array or, when another thread has that, an entry of the hash. Its IOC
 * must have less than its cap of one of them.
 */
static __always_inline struct iocx_thread *make_thread(__u64 id, const struct iocx_ioc_config *config)
{
	__u32 holder = config->holder, index = (__u32)id & thread_mask;
	struct iocx_thread *thread = NULL;
	void *zeroes;

	if (!bpf_map_lookup_elem(&record_thread_owners, &index) && take_place(IOCX_HELD_THREADS, holder)) {
		if (!bpf_map_update_elem(&record_thread_owners, &index, &id, BPF_NOEXIST))
			thread = bpf_map_lookup_elem(&record_threads, &index);
		else
			give_place(IOCX_HELD_THREADS, holder); /* another thread was faster */
	}
	if (!thread) {
		zeroes = only_element(&zero_thread);
		if (!zeroes || !take_place(IOCX_HELD_OVERFLOW_THREADS, holder))
			return NULL;
		thread = add_entry(&record_threads_overflow, &id, zeroes);
		if (!thread)
			give_place(IOCX_HELD_OVERFLOW_THREADS, holder);
	}
	if (!thread)
		return NULL;
	thread->holder = holder;
	thread->owner = id;
	return thread;
}

/* The thread was another IOC's, of the same process: its stack is held by the one that it is now. */
static __always_inline void pass_on_place(struct iocx_thread *thread, __u64 id, const struct iocx_ioc_config *config)
{
	__u32 holder = config->holder, index = (__u32)id & thread_mask;
	struct iocx_thread *element;
	__u32 table;

	if (!holder || thread->holder == holder)
		return;
	element = bpf_map_lookup_elem(&record_threads, &index);
	table = element && element->owner == id ? IOCX_HELD_THREADS : IOCX_HELD_OVERFLOW_THREADS;
	give_place(table, thread->holder);
	add_place(table, holder);
	thread->holder = holder;
}

/* Whether the name starts with `text`, a literal of at most 8 characters. Both processors are little endian. */
#define COMM_STARTS(comm, text) comm_starts(comm, text, sizeof(text) - 1)
static __always_inline int comm_starts(const char *comm, const char *text, __u32 length)
{
	__u64 wanted = 0, mask = length < 8 ? (1ULL << (8 * length)) - 1 : ~0ULL;

	__builtin_memcpy(&wanted, text, length);
	return (*(const __u64 *)comm & mask) == wanted;
}

static __always_inline __u32 cause_of(__u64 id, const char *comm)
{
	if ((__u32)id == (__u32)(id >> 32))
		return IOCX_CAUSE_MAIN;
	if (COMM_STARTS(comm, "scan-"))
		return IOCX_CAUSE_SCAN;
	if (COMM_STARTS(comm, "scanOnce"))
		return IOCX_CAUSE_ONCE;
	if (COMM_STARTS(comm, "cbLow") || COMM_STARTS(comm, "cbMedium") || COMM_STARTS(comm, "cbHigh"))
		return IOCX_CAUSE_CALLBACK;
	if (COMM_STARTS(comm, "CAS-clie"))
		return IOCX_CAUSE_CA;
	if (COMM_STARTS(comm, "PVXTCP") || COMM_STARTS(comm, "TCP-rx"))
		return IOCX_CAUSE_PVA;
	return IOCX_CAUSE_OTHER;
}

/* Whether a periodic scan of the IOC has such a thread. Anybody may call a thread scan-something. */
static __always_inline int is_periodic_scan(const char *comm, __u32 generation)
{
	struct iocx_scan_name name = {};

	__builtin_memcpy(name.comm, comm, sizeof(name.comm));
	if (bpf_map_lookup_elem(&scan_names, &name))
		return 1;
	name.generation = generation;
	return bpf_map_lookup_elem(&scan_names, &name) != NULL;
}

/* Resets everything but the frames, which are not used at depth 0. */
static __always_inline void reset_thread(struct iocx_thread *thread, __u64 id, __u32 generation)
{
	__builtin_memset(&thread->counts, 0, sizeof(thread->counts));
	__builtin_memset(&thread->puts, 0, sizeof(thread->puts));
	__builtin_memset(&thread->lines, 0, sizeof(thread->lines));
	thread->depth = 0; /* frames of an earlier process with the same ids */
	thread->left_by = 0;
	bpf_get_current_comm(thread->comm, sizeof(thread->comm));
	thread->cause = cause_of(id, thread->comm);
	if (thread->cause == IOCX_CAUSE_SCAN && !is_periodic_scan(thread->comm, generation))
		thread->cause = IOCX_CAUSE_OTHER;
}

/* The IOC that a thread's process is now, and its slot; NULL when the process is not watched. */
static __always_inline struct iocx_ioc_config *config_of_process(__u64 id, __u32 **slot)
{
	__u32 tgid = id >> 32;

	*slot = bpf_map_lookup_elem(&ioc_by_tgid, &tgid);
	return *slot ? bpf_map_lookup_elem(&ioc_config, *slot) : NULL;
}

/*
 * Binds the stack of the thread to the IOC of its process. Returns 1; 0 when the process is not watched; a negative
 * number when there is no room for another stack. A process that is not watched pays for a few look-ups, and only
 * when the probes of its library are attached for all processes.
 */
static __noinline int bind_thread(__u64 id)
{
	struct iocx_ioc_config *config;
	struct iocx_thread *thread;
	__u32 *slot;

	config = config_of_process(id, &slot);
	if (!config || config->tgid != (__u32)(id >> 32))
		return 0;
	thread = thread_of(id);
	if (thread)
		pass_on_place(thread, id, config);
	else
		thread = make_thread(id, config);
	if (!thread) {
		count_drop(IOCX_RECORD_DROP_THREADS_FULL);
		return -1;
	}
	reset_thread(thread, id, config->generation);
	thread->slot = *slot;
	thread->generation = config->generation;
	thread->epoch = config->epoch;
	return 1;
}

/* Whether the thread is bound to the IOC that has its slot now. */
static __always_inline int is_bound(const struct iocx_thread *thread, const struct iocx_ioc_config *config)
{
	return config->generation == thread->generation;
}

/*
 * The calling thread and its IOC; the thread is bound when it was not. NULL when it is not watched, or when it has no
 * stack: then `*no_room` is 1. Every entry probe starts with this.
 */
static __always_inline struct iocx_thread *watched_thread(__u64 id, struct iocx_ioc_config **config, int *no_room)
{
	struct iocx_thread *thread = thread_of(id);
	int bound;

	*no_room = 0;
	if (thread) {
		*config = bpf_map_lookup_elem(&ioc_config, &thread->slot);
		if (*config && is_bound(thread, *config))
			return thread;
	}
	bound = bind_thread(id);
	*no_room = bound < 0;
	if (bound <= 0)
		return NULL;
	thread = thread_of(id);
	if (!thread)
		return NULL;
	*config = bpf_map_lookup_elem(&ioc_config, &thread->slot);
	return *config && is_bound(thread, *config) ? thread : NULL;
}

/*
 * Whether this program counts the hit, of those of both kinds of attachment while one replaces the other. The newer one's
 * is the first to see a hit (consumer_add() in kernel/events/uprobes.c). When user space, between the two, lets the newer
 * one count from now on, the second program counts, though it is not of the kind that counts, what the first has left to
 * it. So each hit counts once, as long as user space (src/probes/engine.cpp) attaches all new ones, lets hits end that are
 * under way, writes once, takes all old ones off, and then raises `switches`: after the write the second program leaves a
 * mark, too, which must not be taken for one of a later switch. A call under way counts once, too, with its duration: the
 * ends of both are there.
 */
static __always_inline int is_counted_by(struct pt_regs *ctx, struct iocx_thread *thread,
					 const struct iocx_ioc_config *config, __u8 attach)
{
	const __u8 counting = *(const volatile __u8 *)&config->attach;
	const __u16 switches = config->switches;
	int counts;

	attach = kind_of_attachment(ctx, attach);
	counts = counting == attach || (counting && thread->left_by == IOCX_LEFT_BY(IOCX_OTHER_KIND(attach), switches));
	thread->left_by = counting && !counts ? IOCX_LEFT_BY(attach, switches) : 0;
	return counts;
}

/*
 * A hit takes several times as long when the thread has slept for about 10 ms: other programs have used the caches. Called at
 * the entries and the ends of dbProcess and scanList, one of which is the first hit after nearly each pause.
 */
const volatile __u32 cfg_cold_ticks = 2; /* about 5 ms of the kernel's ticks, at least 2 */

static __always_inline void count_if_cold(struct iocx_thread *thread, __u64 tick)
{
	thread->counts.cold += tick - thread->counts.last_tick >= cfg_cold_ticks;
	thread->counts.last_tick = tick;
}

/*
 * The cost of the trap is known. The program's own time depends on how much of its data is in caches: some hits of
 * dbProcess and scanList are measured, and hits of all functions are taken to cost the same.
 */
static __always_inline void count_hit(struct iocx_thread *thread, const struct iocx_ioc_config *config,
				      enum iocx_record_probe probe)
{
	thread->counts.entries += 1;
	thread->counts.stepped += config->stepped >> probe & 1;
	thread->counts.entries_ns += thread->counts.entry_ns;
	if (probe == IOCX_PROBE_PROCESS || probe == IOCX_PROBE_COMPLETION)
		return;
	thread->counts.extras += 1;
	thread->counts.extras_stepped += config->stepped >> probe & 1;
	thread->counts.extras_ns += thread->counts.entry_ns;
}

static __always_inline void count_return(struct iocx_thread *thread, __u32 stepped)
{
	thread->counts.returns += 1;
	thread->counts.returns_stepped += stepped;
	thread->counts.returns_ns += thread->counts.end_ns;
}

/*
 * Whether the duration of this hit is measured. 17 ticks (bpf_jiffies64()) are no multiple of a scan's period, so that all records
 * are measured. The first 64 hits of a thread are, too: the mean is not that of the first one, which finds cold caches.
 */
#define IS_MEASURED(tick, hits) ((hits) <= 64 || (tick) % 17 == 0)

/* A program that took longer was interrupted, or all of them are that slow. */
#define MOST_OWN_NS 65536

/*
 * `begin`: 0 when this hit is not measured. A hit during which the tick ends is left out: the timer interrupt is in its duration.
 */
static __always_inline void note_own_time(const struct iocx_thread *thread, __u32 *mean, __u64 begin)
{
	__u64 own;

	if (!begin || bpf_jiffies64() != thread->counts.last_tick)
		return;
	own = bpf_ktime_get_ns() - begin;
	if (own > MOST_OWN_NS)
		own = MOST_OWN_NS;
	*mean = *mean ? (7 * (__u64)*mean + own) / 8 : own;
}

/* The calling thread when this program counts the hit, which it then has done; else NULL. To be called once a hit. */
static __always_inline struct iocx_thread *counted_thread(struct pt_regs *ctx, __u64 id,
							  struct iocx_ioc_config **config, __u8 attach,
							  enum iocx_record_probe probe)
{
	struct iocx_thread *thread;
	int no_room;

	thread = watched_thread(id, config, &no_room);
	if (!thread || !is_counted_by(ctx, thread, *config, attach))
		return NULL;
	count_hit(thread, *config, probe);
	return thread;
}

/* The calling thread or NULL, for programs that only note a call: to do so twice a hit changes nothing. */
static __always_inline struct iocx_thread *noted_thread(__u64 id, struct iocx_ioc_config **config,
							enum iocx_record_probe probe)
{
	struct iocx_thread *thread;
	int no_room;

	thread = watched_thread(id, config, &no_room);
	if (thread)
		count_hit(thread, *config, probe);
	return thread;
}

#endif
