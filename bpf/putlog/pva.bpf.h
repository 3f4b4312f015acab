/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* The event of a put by PV Access: client and PV, in bytes[]. Values are not read. */
#ifndef IOC_EXPORTER_BPF_PUTLOG_PVA_BPF_H
#define IOC_EXPORTER_BPF_PUTLOG_PVA_BPF_H

/* `client`: its number. */
static __noinline int putlog_pva(const struct iocx_pva_key *key, __u32 client)
{
	const __u32 places = iocx_putlog_places(cfg_putlog_seed, IOCX_PUTLOG_PVA, key->generation, client);
	struct iocx_putlog_event *event;

	if (!putlog_has_share(places))
		return 0;
	event = putlog_count_loss(
		bpf_ringbuf_reserve(&putlog_events, sizeof(struct iocx_putlog_event) + sizeof(struct iocx_pva_key), 0));
	if (!event)
		return 0;
	__builtin_memset(event, 0, sizeof *event);
	event->time = bpf_ktime_get_ns();
	event->lost = putlog_all_lost();
	event->generation = key->generation;
	event->value_bytes = sizeof *key;
	event->source = IOCX_PUTLOG_PVA;
	bpf_probe_read_kernel(event->bytes, sizeof *key, key);
	putlog_submit(event, places, sizeof *key);
	return 0;
}

#endif
