/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* The maps of records/puts.bpf.h. */
#ifndef IOC_EXPORTER_BPF_RECORD_PUTS_MAPS_H
#define IOC_EXPORTER_BPF_RECORD_PUTS_MAPS_H

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, IOCX_MAX_IOCS);
	__type(key, __u32); /* slot */
	__type(value, struct iocx_put_config);
} put_config SEC(".maps");

/* LRU: most of these puts are done at once, and their entries are not needed again. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, IOCX_MAX_NOTIFIES);
	__type(key, struct iocx_notify_key);
	__type(value, struct iocx_notify);
} put_notifies SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, IOCX_MAX_PUT_CLIENTS);
	__type(key, struct iocx_put_client_key);
	__type(value, __u64);
} put_clients SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, IOCX_PUT_DROPS);
	__type(key, __u32); /* enum iocx_put_drop */
	__type(value, __u64);
} put_drops SEC(".maps");

#endif
