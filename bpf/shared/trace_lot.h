/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Which of an IOC's chains the rate chooses: each that matches within a second has the same chance, wherever it comes in that
 * second. The chance is for as many as the rate allows of as many as came in the seconds before, those without chains left
 * out. clang -target bpf and g++ compile it.
 */
#ifndef IOC_EXPORTER_BPF_SHARED_TRACE_LOT_H
#define IOC_EXPORTER_BPF_SHARED_TRACE_LOT_H

#include <linux/types.h>

/* Of one IOC; zeroes: no chain has come yet. */
struct iocx_trace_lot {
	__u64 since_ns; /* when the first chain of this second came */
	__u64 chance;   /* of each chain in it, of IOCX_TRACE_CERTAIN */
	__u32 came;     /* chains in it, this far */
	__u32 usual;    /* 16 times as many as came in a second, the latest half of it */
	__u32 room;     /* chains that may still be chosen in it */
	__u32 pad;
};

#define IOCX_TRACE_CERTAIN (1ULL << 32)
#define IOCX_TRACE_LOT_NS 1000000000ULL
/* Most chains that one second chooses. Where as many come as usual, the lot does not reach it. */
#define IOCX_TRACE_LOT_ROOM(at_once) (2 * (at_once) + 8)

/*
 * A chain that matches: 1: it is chosen. `interval_ns`: of the rate, not 0; `at_once`: the rate, rounded up; `random`: any
 * 32 bits. Two CPUs at the same moment may both get the last room, or both begin a second.
 */
static inline __attribute__((always_inline)) int iocx_trace_draw(struct iocx_trace_lot *lot, __u64 interval_ns,
								 __u32 at_once, __u64 now, __u32 random)
{
	const __u64 most = interval_ns * at_once;
	__u64 credit = now - lot->since_ns, each;

	if (!lot->since_ns || (credit >= IOCX_TRACE_LOT_NS && now > lot->since_ns)) {
		lot->usual = lot->usual / 2 + (lot->usual ? 8 : 16) * lot->came;
		lot->came = 0;
		lot->since_ns = now;
		lot->room = IOCX_TRACE_LOT_ROOM(at_once);
		/* interval_ns * usual / 16: what the usual number costs; both without their last 16 bits. */
		each = ((interval_ns >> 8) * lot->usual) >> 12;
		credit = credit < most ? credit : most;
		lot->chance = each ? (credit << 16) / each : IOCX_TRACE_CERTAIN;
	}
	__sync_fetch_and_add(&lot->came, 1);
	if (random >= lot->chance || !lot->room)
		return 0;
	lot->room -= 1;
	return 1;
}

#endif
