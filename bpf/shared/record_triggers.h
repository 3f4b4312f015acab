/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* The wire format between bpf/records/triggers.bpf.h and src/records/scan_passes.cpp. */
#ifndef IOC_EXPORTER_BPF_SHARED_RECORD_TRIGGERS_H
#define IOC_EXPORTER_BPF_SHARED_RECORD_TRIGGERS_H

#include "shared/record_process.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What sets records of an IOC off. A list that scanList() passes through: its address, or, when it is a periodic one,
 * IOCX_TRIGGER_SCAN() of its thread. A record that dbPut() writes to: its address | IOCX_TRIGGER_PUT. An asynchronous
 * record that completes: its address | IOCX_TRIGGER_COMPLETION. Addresses are aligned.
 */
#define IOCX_TRIGGER_PUT 1ULL
#define IOCX_TRIGGER_COMPLETION 2ULL
#define IOCX_TRIGGER_SCAN(tgid_and_tid) (1ULL << 63 | (tgid_and_tid) << 2)

/* How often something has. Passes through periodic lists are counted in scan_lists; completions are calls of a record. */
struct iocx_trigger_key {
	__u64 trigger;
	__u32 slot;
	__u32 generation; /* of the IOC */
};

/* Several threads may write it. */
struct iocx_trigger {
	__u64 count;   /* passes that have begun, writes */
	__u64 last_ns; /* when the last one was, CLOCK_MONOTONIC */
	struct iocx_holder holder;
	__u32 pad;
};

#define IOCX_MAX_TRIGGERS 16384
/* An IOC that holds so much of them gets none for writes any more, whoever it is of. */
#define IOCX_MOST_TRIGGERS_OF_PUTS(room) ((room) / 4)

/* iocx_ioc_config.triggers: bits that say which are counted. */
#define IOCX_TRIGGERS_OF_LISTS 1
#define IOCX_TRIGGERS_OF_PUTS 2
/* No attachment counts anything else. Without it, what sets each call off is noted in iocx_record_triggers. */
#define IOCX_TRIGGERS_ONLY 4

#ifdef __cplusplus
}
#endif

#endif
