/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* The wire format between bpf/records/triggers.bpf.h and src/records/scan_passes.cpp. */
#ifndef IOC_EXPORTER_BPF_SHARED_RECORD_TRIGGERS_H
#define IOC_EXPORTER_BPF_SHARED_RECORD_TRIGGERS_H

#include "shared/record_process.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What sets records of an IOC off: a list that scanList() passes through, or a record that dbPut() writes to. */
struct iocx_trigger_key {
	__u64 address; /* of the list; IOCX_TRIGGER_PUT is added to that of a record */
	__u32 slot;
	__u32 generation; /* of the IOC */
};
#define IOCX_TRIGGER_PUT 1ULL /* both are aligned */

/* Several threads may write it. */
struct iocx_trigger {
	__u64 count;   /* passes that have begun, writes */
	__u64 last_ns; /* when the last one was, CLOCK_MONOTONIC */
	struct iocx_holder holder;
	__u32 pad;
};

#define IOCX_MAX_TRIGGERS 8192

/* iocx_ioc_config.passes: what is counted of these. */
enum iocx_triggers {
	IOCX_TRIGGERS_NOT,
	IOCX_TRIGGERS_TOO, /* besides all else: in slices */
	IOCX_TRIGGERS_ONLY /* while no attachment counts anything else, but for passes through periodic lists */
};

#ifdef __cplusplus
}
#endif

#endif
