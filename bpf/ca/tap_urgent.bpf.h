/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * The urgent byte of a direction (MSG_OOB). Part of ca/tap.bpf.c; the lock of the direction is held.
 *
 * Linux leaves it out of the stream when the program reads past it (tcp_recvmsg_locked(), unless SO_OOBINLINE, which no
 * server of Channel Access sets). Where it is, is noted from each segment that is taken, also from one without data or
 * before its turn (tcp_urg() comes after tcp_validate_incoming() only), as long as the byte has not come and none
 * further on is noted (tcp_check_urg()); the pointer is one too high (unless net.ipv4.tcp_stdurg is set). There is one
 * such byte at a time: a later one makes it data again, unless the program has read past it.
 *
 * So its place is sure when the segment is surely taken: in its turn, and not in doubt. Another one may be out of the
 * receiver's window, or too old. What it marks may be left out or not, and so may a byte behind which another one was
 * marked. There, boundaries are searched for again, and what is read without them counts as unread.
 */

/* What is marked further ahead is not believed: the receive buffer is 6 MiB by default (tcp_rmem). */
#define URGENT_AHEAD (1 << 24)

enum urgent {
	URGENT_NONE,
	URGENT_SURE,
	URGENT_UNSURE, /* any of those from `urgent` to `urgent_last` may be left out */
};

/* From here on, the place in the stream is not known. Global functions are off the path of all segments. */
__attribute__((noinline)) int ca_lose_place(struct __sk_buff *skb, __u32 direction)
{
	struct work *w;
	struct iocx_ca_flow *flow = flow_at_hand(skb, &w);
	struct iocx_ca_direction *d;

	if (!flow)
		return 0;
	d = direction_of(flow, direction);
	if (iocx_ca_is_refused(&d->stream))
		return 0;
	count_drop(IOCX_CA_DROP_GAP);
	if (d->stream.sync >= IOCX_CA_REGAINED)
		count_unread(flow, direction, d->stream.have);
	iocx_ca_lose_place(&d->stream);
	forget_proof(w, flow, direction);
	d->boundary = 0;
	return 0;
}

/* The segment says that there is an urgent byte. */
__attribute__((noinline)) int ca_note_urgent(struct __sk_buff *skb)
{
	struct work *w;
	struct iocx_ca_flow *flow = flow_at_hand(skb, &w);
	struct iocx_ca_direction *d;
	__u32 at, end;
	int sure;

	if (!flow)
		return 0;
	d = direction_of(flow, w->segment.direction);
	at = w->segment.seq + (w->segment.urgent ? w->segment.urgent - 1 : 0);
	end = w->segment.seq + w->segment.length;
	sure = !w->doubtful && (__s32)(w->segment.seq - d->next) <= 0 && (__s32)(end - d->next) >= 0;
	if (!d->next_known || (__s32)(at - d->next) < 0 || (__s32)(at - d->next) >= URGENT_AHEAD)
		return 0;
	if (d->urgent_known == URGENT_SURE && (__s32)(at - d->urgent) <= 0)
		return 0;
	if (sure && (d->urgent_known != URGENT_UNSURE || (__s32)(at - d->urgent_last) >= 0)) {
		if (d->urgent_passed)
			ca_lose_place(skb, w->segment.direction);
		d->urgent = at;
		d->urgent_known = URGENT_SURE;
		return 0;
	}
	if (d->urgent_known != URGENT_UNSURE)
		d->urgent_last = d->urgent_known ? d->urgent : at;
	if (!d->urgent_known || (__s32)(at - d->urgent) < 0)
		d->urgent = at;
	if ((__s32)(at - d->urgent_last) > 0)
		d->urgent_last = at;
	d->urgent_known = URGENT_UNSURE;
	return 0;
}

static __always_inline int is_at_urgent(const struct iocx_ca_direction *d)
{
	return d->urgent_known && d->urgent == d->next;
}

/* The next byte has come, and is the urgent one. Messages start one byte later from there on. */
static __always_inline void pass_urgent(struct __sk_buff *skb, struct iocx_ca_flow *flow, struct iocx_ca_direction *d,
					__u32 direction)
{
	const __u32 more = d->urgent_known == URGENT_UNSURE ? d->urgent_last - d->urgent : 0;

	d->next++;
	if (d->urgent_known == URGENT_UNSURE) {
		ca_lose_place(skb, direction);
		count_unread(flow, direction, more + 1);
		if (!d->stream.skip)
			d->stream.skip = more;
	} else if (d->boundary) {
		d->boundary = 8 | ((d->boundary + 1) & 7);
	}
	d->urgent_known = URGENT_NONE;
	d->urgent_passed = 1;
}

/* Urgent bytes, or such as may be, are not seen. */
static __always_inline void miss_urgent(struct iocx_ca_direction *d)
{
	d->urgent_passed = 1;
	if (d->urgent_known == URGENT_UNSURE && (__s32)(d->urgent_last - d->next) >= 0)
		d->urgent = d->next;
	else
		d->urgent_known = URGENT_NONE;
}

/* How many of `length` bytes can be read at once. */
static __always_inline __u32 readable(const struct iocx_ca_direction *d, __u32 length)
{
	const __u32 before = d->urgent - d->next;

	return d->urgent_known && before < length ? before : length;
}
