/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Packets that netfilter redirects (shared/ca_redirects.h). Part of ca/tap.bpf.c.
 *
 * The packet sockets see what comes in before netfilter rewrites its destination, and what goes out after its source
 * was written back. What arrives over loopback has been rewritten by its sender already, its answers have not.
 */

#define USED_NS 1000000000ULL

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, IOCX_CA_SOUGHT);
	__type(key, struct iocx_ca_end);
	__type(value, struct iocx_ca_end);
} ca_sought SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, IOCX_CA_REDIRECTS);
	__type(key, struct iocx_ca_end);
	__type(value, struct iocx_ca_redirect);
} ca_redirects SEC(".maps");

/* How many entries these two have, as user space says: while there are none, nothing is looked up. */
__u32 redirects;

/* The sum of the packet's pseudo header stays that of the addresses that the packet has. */
static __always_inline void move_end(struct work *w, struct iocx_ca_address *from, const struct iocx_ca_address *to)
{
	const __u32 *old = (const __u32 *)from->bytes, *now = (const __u32 *)to->bytes;

#pragma unroll
	for (int i = 0; i < 4; i++) {
		w->moved += old[i];
		w->moved += (__u32)~now[i];
	}
	*from = *to;
}

/* The server's own end, where w->wire names another one. */
static __always_inline struct iocx_ca_redirect *find_redirect(struct work *w)
{
	struct iocx_ca_redirect *redirect = bpf_map_lookup_elem(&ca_redirects, &w->wire);
	const __u64 now = redirect ? bpf_ktime_get_ns() : 0;

	if (redirect && now - redirect->used_ns > USED_NS)
		redirect->used_ns = now;
	return redirect;
}

/*
 * Notes what a client that is sought is sent from, w->wire. Only this host sends over loopback; elsewhere, what is only
 * passed on is left out. A connection says ACK and nothing else: a port where none is answers with RST.
 */
static __always_inline void note_wire(struct work *w, const struct segment *segment)
{
	const struct iocx_ca_end *known;

	if ((segment->flags & (TCP_ACK | TCP_SYN | TCP_FIN | TCP_RST)) != TCP_ACK)
		return;
	w->sought.address = segment->destination;
	w->sought.port = segment->destination_port;
	w->sought.loopback = 0;
	w->sought.net = segment->net;
	known = bpf_map_lookup_elem(&ca_sought, &w->sought);
	if (known && !known->port && (segment->loopback || is_local(&segment->source, segment->net)))
		bpf_map_update_elem(&ca_sought, &w->sought, &w->wire, BPF_EXIST);
}

/* Gives the segment in the work area the server's own end. */
__attribute__((noinline)) int ca_redirect(struct __sk_buff *skb)
{
	struct work *w = get_work();
	const struct iocx_ca_redirect *redirect;
	struct segment *segment;

	asm volatile("" : : "r"(skb));
	if (!w)
		return 0;
	segment = &w->segment;
	w->wire.net = segment->net;
	w->wire.loopback = segment->loopback != 0;
	if (segment->outgoing) {
		w->wire.address = segment->source;
		w->wire.port = segment->source_port;
		redirect = find_redirect(w);
		if (redirect) {
			move_end(w, &segment->source, &redirect->address);
			segment->source_port = redirect->port;
			return 0;
		}
		note_wire(w, segment);
	}
	if (segment->loopback || !segment->outgoing) {
		w->wire.address = segment->destination;
		w->wire.port = segment->destination_port;
		redirect = find_redirect(w);
		if (redirect) {
			move_end(w, &segment->destination, &redirect->address);
			segment->destination_port = redirect->port;
		}
	}
	return 0;
}
