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

/* They are held by their IOC and its user, as slots are. */
static __always_inline void change_open_shares(__u32 generation, __u32 user, __u64 more)
{
	change_share(IOCX_SERVER_SHARES + IOCX_SERVER_SHARE_ALL, more);
	change_share(IOCX_SERVER_SHARES + IOCX_SERVER_SHARE_IOC + generation % IOCX_SERVER_IOCS, more);
	change_share(IOCX_SERVER_SHARES + user, more);
}

static __always_inline int may_open(const struct iocx_server_ioc *ioc)
{
	const __u64 *all = share_at(IOCX_SERVER_SHARES + IOCX_SERVER_SHARE_ALL);
	const __u64 *of_ioc = share_at(IOCX_SERVER_SHARES + share_of_ioc(ioc));
	const __u64 *of_user = share_at(IOCX_SERVER_SHARES + ioc->user);

	return all && of_ioc && of_user && iocx_server_may(IOCX_OPEN_CALLBACKS, *all, *of_user, *of_ioc, *of_ioc);
}

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

/* At dbProcessNotify(notify); `no_room`: counts those that are not kept. */
static __noinline int open_callback(__u64 notify, __u32 no_room)
{
	const __u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct iocx_open_callback *callback = expected_callback();
	const struct iocx_server_ioc *ioc = current_ioc();
	struct iocx_open_callback_key key = {.notify = notify};

	if (!callback || !ioc)
		return 0;
	key.generation = ioc->generation;
	callback->user = ioc->user;
	/* One at the same address is over: its end was not seen. */
	if (bpf_map_update_elem(&open_callbacks, &key, callback, BPF_EXIST)) {
		if (may_open(ioc) && !bpf_map_update_elem(&open_callbacks, &key, callback, BPF_NOEXIST))
			change_open_shares(key.generation, ioc->user, 1);
		else
			add_to_counter(&server_drops, no_room, 1);
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
	change_open_shares(key.generation, callback->user, -1ULL);
	return 0;
}

#endif
