/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Puts with callback that the database has begun and not ended, other than those of rsrv to the sender's own channel,
 * which slot_results has. The thread that is about to begin one notes its slot; dbProcessNotify() follows in the same
 * thread.
 */
#ifndef IOC_EXPORTER_BPF_PUTS_OPEN_CALLBACKS_BPF_H
#define IOC_EXPORTER_BPF_PUTS_OPEN_CALLBACKS_BPF_H

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, IOCX_OPEN_CALLBACKS);
	__type(key, struct iocx_open_callback_key);
	__type(value, struct iocx_open_callback);
} open_callbacks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32); /* thread id, of the put that it is at */
	__type(value, struct iocx_open_callback);
} callback_threads SEC(".maps");

/* `slot`: of the put that comes now; NULL: it has none. */
static __always_inline void expect_callback(const struct iocx_server_slot *slot, __u32 index, __u64 now)
{
	const __u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct iocx_open_callback callback = {.since_ns = now, .slot = index};

	if (!slot) {
		bpf_map_delete_elem(&callback_threads, &tid);
		return;
	}
	callback.id = slot->id;
	bpf_map_update_elem(&callback_threads, &tid, &callback, BPF_ANY);
}

static __always_inline struct iocx_open_callback *expected_callback(void)
{
	const __u32 tid = (__u32)bpf_get_current_pid_tgid();

	return bpf_map_lookup_elem(&callback_threads, &tid);
}

/* At dbProcessNotify(notify). */
static __noinline int open_callback(__u64 notify)
{
	const __u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct iocx_open_callback *callback = expected_callback();
	const struct iocx_server_ioc *ioc = current_ioc();
	struct iocx_open_callback_key key = {.notify = notify};
	__u64 *held;

	if (!callback || !ioc)
		return 0;
	key.generation = ioc->generation;
	/* One at the same address is over: its end was not seen. */
	if (bpf_map_update_elem(&open_callbacks, &key, callback, BPF_EXIST)) {
		held = held_by(IOCX_SERVER_CALLBACKS + index_of_ioc(key.generation));
		if (held && *held < iocx_cap(IOCX_OPEN_CALLBACKS) &&
		    !bpf_map_update_elem(&open_callbacks, &key, callback, BPF_NOEXIST))
			__sync_fetch_and_add(held, 1);
		else
			add_to_counter(&server_drops, IOCX_SERVER_DROP_OPEN, 1);
	}
	bpf_map_delete_elem(&callback_threads, &tid);
	return 0;
}

/* It is done, or was cancelled. Returns 0 and what it was in `callback`, or not 0: it is not known. */
static __always_inline int close_callback(__u64 notify, struct iocx_open_callback *callback)
{
	const struct iocx_server_ioc *ioc = current_ioc();
	struct iocx_open_callback_key key = {.notify = notify};
	const struct iocx_open_callback *found;

	if (!ioc)
		return -1;
	key.generation = ioc->generation;
	found = bpf_map_lookup_elem(&open_callbacks, &key);
	if (!found)
		return -1;
	*callback = *found;
	if (bpf_map_delete_elem(&open_callbacks, &key))
		return -1;
	change_held(IOCX_SERVER_CALLBACKS + index_of_ioc(key.generation), -1ULL);
	return 0;
}

#endif
