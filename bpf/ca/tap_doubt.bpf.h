/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Whether the receiver may refuse a segment, for a checksum, its acknowledgement or its time stamp. Part of ca/tap.bpf.c.
 *
 * What the receiver's kernel decides cannot be seen in every case, so nothing is refused here: a segment in doubt is
 * stored, and read when the receiver has acknowledged its bytes. Others are read at once, which costs less and needs no
 * room. So a doubt without a reason loses nothing, and what is believed must be sure.
 *
 * Most packets that are seen on this host have no checksum yet, but the sum of the pseudo header in its place
 * (CHECKSUM_PARTIAL), and nobody checks it: what goes over loopback or to a container, what a device is to complete,
 * and what GRO has joined. A filter does not see which packets are such (skb->ip_summed). But a sender's TCP, and GRO,
 * note how many segments the packet stands for (tcp_transmit_skb(), tcp_gro_complete()), and raw sockets and devices
 * leave 0 there, so that who forges the sum of the pseudo header is not believed. What the host cuts into segments
 * itself has no such note, but still the hash of its socket, which raw packets on loopback have not; what leaves over
 * another device is this host's. Packets of another virtual machine on the same host have neither: they are in doubt.
 */

#define OLD_ACK (1 << 14)
#define SUM_CHUNK 1024
#define SUM_CHUNKS 66 /* more than a packet without segments has */

static __always_inline __u32 size_with_header(const struct segment *segment)
{
	return segment->data_at + segment->length - segment->tcp_at;
}

/* That of an IPv4 address does not change by being written as an IPv6 one: 0xFFFF counts as 0. */
static __always_inline __u64 sum_of_pseudo_header(const struct segment *segment)
{
	const __u32 *source = (const __u32 *)segment->source.bytes;
	const __u32 *destination = (const __u32 *)segment->destination.bytes;
	__u64 sum = bpf_htons(IPPROTO_TCP) + (__u64)bpf_htonl(size_with_header(segment));

#pragma unroll
	for (int i = 0; i < 4; i++) {
		sum += source[i];
		sum += destination[i];
	}
	return sum;
}

/* Adds a chunk of the segment to w->sum. Returns 0 when there is none left. */
__attribute__((noinline)) int ca_sum_chunk(struct __sk_buff *skb)
{
	struct work *w = get_work();
	const __u64 *words;
	__u64 sum = 0, wanted, end;
	__u32 size;

	asm volatile("" : : "r"(skb));
	if (!w)
		return 0;
	size = size_with_header(&w->segment) - w->stored;
	if (size == 0)
		return 0;
	if (size > SUM_CHUNK)
		size = SUM_CHUNK;
	/* As in fill(): the verifier of 5.10 must see that 1 <= wanted. */
	wanted = size - 1;
	IOCX_CA_MASK(wanted, SUM_CHUNK - 1);
	asm volatile("%0 += 1" : "+r"(wanted));
	if (bpf_skb_load_bytes(skb, w->segment.tcp_at + w->stored, w->window.bytes, wanted))
		return 0;
	end = size;
	IOCX_CA_MASK(end, 2 * SUM_CHUNK - 1);
	if (end > SUM_CHUNK)
		return 0;
	__builtin_memset(w->window.bytes + end, 0, sizeof(__u64));
	words = (const __u64 *)w->window.bytes;
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < SUM_CHUNK / 8; i++) {
		if (i * 8 >= size)
			break;
		sum += (words[i] & 0xFFFFFFFF) + (words[i] >> 32);
	}
	w->sum += sum;
	w->stored += size;
	return 1;
}

static __always_inline int has_wrong_sum(struct __sk_buff *skb, struct work *w)
{
	const __u64 pseudo = sum_of_pseudo_header(&w->segment) + w->moved;

	if (w->segment.unusual)
		return 1;
	if (skb->gso_size)
		return 0;
	if (fold(pseudo) == w->segment.checksum &&
	    (skb->gso_segs || (w->segment.outgoing && (skb->hash || !w->segment.loopback))))
		return 0;
	w->sum = pseudo;
	w->stored = 0;
	for (int chunk = 0; chunk < SUM_CHUNKS; chunk++)
		if (!ca_sum_chunk(skb))
			break;
	return w->stored != size_with_header(&w->segment) || fold(w->sum) != 0xFFFF;
}

/*
 * Whether the segment acknowledges what was not sent, or what was acknowledged long ago: then its data is refused
 * (RFC 5961, 5.2; tcp_ack()). What is long ago for the receiver depends on the largest window that it was offered.
 */
static __always_inline int has_odd_ack(struct iocx_ca_flow *flow, const struct segment *segment)
{
	const struct iocx_ca_direction *other = direction_of(flow, !segment->direction);
	const __u32 next = other->next + 1; /* behind a FIN */
	__u32 sent = OLD_ACK;
	__u64 which = !segment->direction;

	if (!other->next_known)
		return 0;
	IOCX_CA_MASK(which, 1);
	if (!flow->joined && next - flow->first_seq[which] < sent)
		sent = next - flow->first_seq[which];
	return next - segment->ack > sent;
}

/* Else it changes nothing. */
static __always_inline int brings_more(const struct iocx_ca_direction *d, const struct segment *segment)
{
	return !d->next_known || (segment->flags & TCP_FIN) || (__s32)(segment->seq + segment->length - d->next) > 0;
}

/*
 * Whether the time stamp is older than those before (PAWS, RFC 7323, 5.3). Linux goes by those of segments that were in
 * their turn, and lets a difference of 1 pass (tcp_paws_check()).
 */
static __always_inline int has_old_stamp(const struct iocx_ca_direction *d, const struct segment *segment)
{
	if (segment->options == SEGMENT_PLAIN || !brings_more(d, segment))
		return 0;
	return segment->options == SEGMENT_ODD || (d->stamped && (__s32)(d->stamp - segment->stamp) > 1);
}

/* The segment is in its turn, and not in doubt. */
static __always_inline void note_stamp(struct iocx_ca_direction *d, const struct segment *segment)
{
	if (segment->options != SEGMENT_STAMPED || (d->stamped && (__s32)(d->stamp - segment->stamp) > 0))
		return;
	d->stamp = segment->stamp;
	d->stamped = 1;
}
