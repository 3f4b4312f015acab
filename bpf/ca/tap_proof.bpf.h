/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * What proves that messages to the server start where they were found. Part of ca/tap.bpf.c.
 *
 * Behind a late start, or a gap, boundaries are found by what headers look like. The bytes of an array may look like
 * messages as well, and nothing in them tells. But the server answers what it has read, and nothing else: an answer to
 * a request that was read since then says that both read the same messages. Puts that were read before that are counted
 * as IOCX_CA_DROP_UNPROVEN as well: as many may be invented. Who has an earlier request of the same number answered
 * late can still deceive.
 */

/* Where messages of the direction start is not known any more. */
static __always_inline void forget_proof(const struct work *w, struct iocx_ca_flow *flow, __u32 direction)
{
	if (direction != IOCX_CA_TO_SERVER)
		return;
	flow->unproven_ns = w->now;
	flow->echo_asked = 0;
}

/* The server has answered a request that was read at that time. */
static __always_inline void prove(struct iocx_ca_flow *flow, __u64 asked_ns)
{
	if (flow->unproven_ns && asked_ns > flow->unproven_ns)
		flow->unproven_ns = 0;
}

/* The client has asked for an ECHO. */
static __always_inline void note_echo(struct iocx_ca_flow *flow)
{
	if (flow->unproven_ns)
		flow->echo_asked = 1;
}

static __always_inline void on_echoed(struct iocx_ca_flow *flow)
{
	if (flow->echo_asked)
		flow->unproven_ns = 0;
	flow->echo_asked = 0;
}

static __always_inline void count_unproven(const struct iocx_ca_flow *flow)
{
	if (flow->unproven_ns)
		count_drop(IOCX_CA_DROP_UNPROVEN);
}
