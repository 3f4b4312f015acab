/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* Shares of a ring buffer (shared/ring_shares.h). */
#ifndef IOC_EXPORTER_BPF_BASE_RING_SHARES_H
#define IOC_EXPORTER_BPF_BASE_RING_SHARES_H

#include "shared/ring_shares.h"

/* `shares` has `places` elements of bytes that the programs have noted. */
static __always_inline __u32 ring_held(void *shares, __u32 places, __u32 place)
{
	const __u32 read_at = places + place;
	const __u64 *told = bpf_map_lookup_elem(shares, &place);
	const __u64 *read = bpf_map_lookup_elem(shares, &read_at);
	__s64 held;

	if (!told || !read)
		return 0;
	held = (__s64)(*told - *read); /* another CPU may add to both between the two */
	return held > 0 ? (__u32)((__u64)held / IOCX_RING_UNIT) : 0;
}

/* Whether the writer at `place` may have one more event in the ring of that size. */
static __always_inline int ring_may(void *ring, __u32 size, void *shares, __u32 places, __u32 place)
{
	const __s32 left = (__s32)((size - (__u32)bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA)) / IOCX_RING_UNIT);
	const __u32 reserve = IOCX_RING_RESERVE(size) / IOCX_RING_UNIT;

	return left > (__s32)reserve || (__s32)(ring_held(shares, places, place) * 8) < left;
}

static __always_inline void ring_told(void *shares, __u32 place, __u64 bytes)
{
	__u64 *told = bpf_map_lookup_elem(shares, &place);

	if (told)
		__sync_fetch_and_add(told, bytes);
}

#endif
