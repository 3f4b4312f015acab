/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* The maps of records/puts.bpf.h. */
#ifndef IOC_EXPORTER_BPF_RECORD_PUTS_MAPS_H
#define IOC_EXPORTER_BPF_RECORD_PUTS_MAPS_H

MAP(put_config, ARRAY, IOCX_MAX_IOCS, __u32, struct iocx_put_config); /* slot */

/* LRU: most of these puts are done at once, and their entries are not needed again. */
struct notifies_of_iocs {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, IOCX_MAX_NOTIFIES);
	__type(key, struct iocx_notify_key);
	__type(value, struct iocx_notify);
};
struct notifies_of_iocs put_notifies_0 SEC(".maps"), put_notifies_1 SEC(".maps"), put_notifies_2 SEC(".maps"),
	put_notifies_3 SEC(".maps"), put_notifies_4 SEC(".maps"), put_notifies_5 SEC(".maps"),
	put_notifies_6 SEC(".maps"), put_notifies_7 SEC(".maps");

/* Several: an IOC that begins many puts pushes out those of its own table only. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, IOCX_NOTIFY_TABLES);
	__type(key, __u32); /* iocx_put_config.notifies */
	__array(values, struct notifies_of_iocs);
} put_notifies SEC(".maps") = {
	.values = {&put_notifies_0, &put_notifies_1, &put_notifies_2, &put_notifies_3, &put_notifies_4, &put_notifies_5,
		   &put_notifies_6, &put_notifies_7},
};

#endif
