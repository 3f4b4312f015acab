/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Which calls of a busy record are timed, and how many calls each of them stands for. clang -target bpf and g++ compile
 * it; a simulation in the tests uses the same code.
 *
 * What is known before a call puts it into one of two strata:
 *
 * - Calls that are timed for a reason of their own: the first one after a quiet time, one within a timed call, all of an
 *   asynchronous record. Each stands for itself.
 * - The others, in their order, form blocks. One call of each block is timed; each has the same probability, and the
 *   timed one stands for all calls of the block.
 *
 * So the expected weight of every call is 1, whatever its duration and its place in a burst. For that, no decision may
 * depend on what was timed before, but for the size of a block that has not begun.
 *
 * The timed call is counted with the weight of its block at once, though calls of the block may be still to come: what is
 * counted as timed differs from the number of calls by less than the size of one block.
 */
#ifndef IOC_EXPORTER_BPF_SHARED_SAMPLING_H
#define IOC_EXPORTER_BPF_SHARED_SAMPLING_H

#include <linux/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of one record. All zeros: every call forms a block of its own. */
struct iocx_sampler {
	__u64 last_ns;      /* when the last call began, CLOCK_MONOTONIC */
	__u64 window_ns;    /* since when window_calls are counted */
	__u32 window_calls; /* calls of the second kind, up to the next one that is timed */
	__u32 skip;         /* calls until the next one is timed */
	__u32 others;       /* calls of its block that this one stands for, beside itself */
	__u32 rest;         /* those that come after it */
};

#define IOCX_NS_PER_SECOND 1000000000ULL
#define IOCX_LONG_AGO_NS (1ULL << 40)       /* so that no product below overflows */
#define IOCX_MOST_OTHERS (1ULL << 20)       /* of a block */
#define IOCX_BLOCKS_AT_LEAST_SHIFT 6        /* a block holds at most 1/64 of the calls so far */
#define IOCX_WINDOW_NS (IOCX_NS_PER_SECOND) /* the rate is that of the last one or two seconds */

/* Whether the call is the first after a quiet time. To be asked once at each call. */
static inline __attribute__((always_inline)) int iocx_sample_is_first(struct iocx_sampler *s, __u64 now, __u64 quiet_ns)
{
	__s64 since = (__s64)(now - s->last_ns); /* negative: the clock of another CPU is ahead */

	s->last_ns = now;
	return since > (__s64)quiet_ns;
}

/*
 * For a call of the second kind while `skip` is 0: returns its weight, and chooses the next call.
 *
 * The size of the next block follows from the rate of calls. It grows at most to the double, so that the start of a burst
 * is timed too. `calls`: all of the record so far. `random`: any 32 bits.
 */
static inline __attribute__((always_inline)) __u32 iocx_sample_take(struct iocx_sampler *s, __u64 now, __u32 rate,
								    __u64 calls, __u32 random)
{
	__u64 since = now - s->window_ns, others, most = 2 * (__u64)s->others + 2;
	__u32 weight = 1 + s->others, position;

	if (since > IOCX_LONG_AGO_NS)
		since = IOCX_LONG_AGO_NS;
	others = s->window_calls * IOCX_NS_PER_SECOND / (since * rate + 1);
	if (others > 0)
		others -= 1;
	if (others > most)
		others = most;
	if (others > calls >> IOCX_BLOCKS_AT_LEAST_SHIFT)
		others = calls >> IOCX_BLOCKS_AT_LEAST_SHIFT;
	if (others > IOCX_MOST_OTHERS)
		others = IOCX_MOST_OTHERS;
	if (since > IOCX_WINDOW_NS) {
		s->window_ns = now - since / 2;
		s->window_calls /= 2;
	}
	position = random % (__u32)(others + 1);
	s->skip = s->rest + position;
	s->rest = (__u32)others - position;
	s->others = (__u32)others;
	s->window_calls += s->skip + 1;
	return weight;
}

#ifdef __cplusplus
}
#endif

#endif
