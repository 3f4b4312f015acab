/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * The lock of a direction of a connection, and the start of a connection, which takes both. Part of tap/tap.bpf.c. A
 * holder never sleeps and runs with bottom halves off, so that others may spin. They spin a bounded number of times
 * and count the segments that they give up.
 */

/* For ca_tap_insert: the key that is inserted. */
struct lock {
	struct iocx_ca_channel_key key;
};

/* A pause that touches no memory, of a quarter of a microsecond each. Global as ca_burst() is. */
__attribute__((noinline)) int ca_pause(__u32 times)
{
	for (__u32 i = 0; i < LONG_PAUSE && i < times; i++) {
#pragma unroll
		for (int reading = 0; reading < CLOCK_READINGS; reading++)
			bpf_ktime_get_ns();
	}
	return 0;
}

static __always_inline int acquire(struct lock *lock, struct iocx_ca_flow *flow, struct iocx_ca_direction *d,
				   __u32 direction, const int swap)
{
	const __u32 one = 1;

	if (!swap) {
		lock->key.circuit = flow->lock;
		lock->key.id = direction;
		lock->key.place = 0;
	}
	for (int i = 0; i < SPINS; i++) {
		if (swap && __sync_val_compare_and_swap(&d->lock, 0, 1) == 0)
			return 1;
		if (!swap && bpf_map_update_elem(&ca_locks, &lock->key, &one, BPF_NOEXIST) == 0)
			return 1;
		ca_pause(i < SPINS / 2 ? 1 : LONG_PAUSE);
	}
	return 0;
}

static __always_inline void release(struct lock *lock, struct iocx_ca_direction *d, const int swap)
{
	if (swap)
		__sync_val_compare_and_swap(&d->lock, 1, 0); /* a full barrier, unlike a store */
	else
		bpf_map_delete_elem(&ca_locks, &lock->key);
}

/* The connection gets another circuit id, without anything that is known of its channels and client. */
static __always_inline void renew_circuit(struct work *w, struct iocx_ca_flow *flow)
{
	if (iocx_ca_is_pva(flow->ioc) != iocx_ca_is_pva(w->segment.ioc)) {
		iocx_pva_lose_place(&flow->directions[IOCX_CA_TO_SERVER].pva);
		iocx_pva_lose_place(&flow->directions[IOCX_CA_TO_CLIENT].pva);
	}
	flow->circuit = new_id(w);
	flow->ioc = w->segment.ioc;
	flow->unnamed_slot = IOCX_CA_NO_SLOT;
	flow->channels = 0;
	flow->lacks_channels = 0;
	flow->since_ns = w->now;
	flow->unnamed = 0;
	flow->directions[IOCX_CA_TO_SERVER].notified = 0;
	flow->directions[IOCX_CA_TO_CLIENT].notified = 0;
	__builtin_memset(&flow->identity, 0, sizeof flow->identity);
}

/* A SYN+ACK: both directions start. A repeated one changes nothing. */
static __always_inline void restart_flow(struct __sk_buff *skb, struct work *w, struct iocx_ca_flow *flow,
					 const struct segment *segment, const int swap)
{
	struct iocx_ca_direction *to_server = &flow->directions[IOCX_CA_TO_SERVER];
	struct iocx_ca_direction *to_client = &flow->directions[IOCX_CA_TO_CLIENT];
	struct lock outer, inner;

	/* The only place that holds both locks, so that two programs cannot block each other. */
	if (!acquire(&outer, flow, to_server, IOCX_CA_TO_SERVER, swap)) {
		count_drop(IOCX_CA_DROP_BUSY);
		return;
	}
	if (!acquire(&inner, flow, to_client, IOCX_CA_TO_CLIENT, swap)) {
		count_drop(IOCX_CA_DROP_BUSY);
		release(&outer, to_server, swap);
		return;
	}
	if (flow->first_seq[0] != segment->ack || flow->first_seq[1] != segment->seq + 1) {
		if (to_server->window)
			ca_close_window(skb, IOCX_CA_TO_SERVER);
		if (to_client->window)
			ca_close_window(skb, IOCX_CA_TO_CLIENT);
		renew_circuit(w, flow);
		flow->first_seq[0] = segment->ack;
		flow->first_seq[1] = segment->seq + 1;
		flow->events_off = 0;
		flow->refused_ns = 0;
		flow->alien = 0;
		start_direction(to_server, segment->ack);
		start_direction(to_client, segment->seq + 1);
		flow->ended = 0;
	}
	release(&inner, to_client, swap);
	release(&outer, to_server, swap);
}
