/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * The threads of watched IOCs: who a thread is, which IOC it belongs to, and which of two attachments
 * counts what it hits.
 */
#ifndef IOC_EXPORTER_BPF_RECORD_THREADS_H
#define IOC_EXPORTER_BPF_RECORD_THREADS_H

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

/* True when the name begins with `text`, a literal of at most 8 characters; both processors are little endian. */
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

/* Everything but the frames, which mean nothing at depth 0. */
static __always_inline void reset_thread(struct iocx_thread *thread, __u64 id)
{
	__builtin_memset(&thread->counts, 0, sizeof(thread->counts));
	__builtin_memset(&thread->puts, 0, sizeof(thread->puts));
	thread->depth = 0; /* frames of an earlier process with the same ids */
	bpf_get_current_comm(thread->comm, sizeof(thread->comm));
	thread->cause = cause_of(id, thread->comm);
}

/*
 * Binds the thread's stack to the IOC that its process is now: 1; 0 when it is not watched, a negative
 * number when there is no room for another stack. A process that is not watched
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
	reset_thread(thread, id);
	thread->slot = *slot;
	thread->generation = config->generation;
	thread->epoch = config->epoch;
	return 1;
}

/*
 * Whether this program counts the hit: `attach` is the kind of attachment that it belongs to. While both
 * kinds are on, one of them counts. For programs that keep no frame of the call, each at most once a hit;
 * counts the hit, too. (Between the two programs of one hit, within a microsecond, user space may change
 * its mind: dbProcess' own programs have a frame that tells, others may count that one hit twice or not.)
 */
static __always_inline int counts_here(struct iocx_thread *thread, const struct iocx_ioc_config *config,
				       __u8 attach)
{
	__u8 on = config->attach & (IOCX_ATTACH_PROCESS | IOCX_ATTACH_ALL);

	if (on != attach && !(attach == IOCX_ATTACH_PROCESS && on & attach))
		return 0;
	thread->counts.entries += 1;
	return 1;
}

#endif
