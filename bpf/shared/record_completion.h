/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* The wire format between bpf/records/completion.bpf.h and src/records/probe/extra_probes.cpp. */
#ifndef IOC_EXPORTER_BPF_SHARED_RECORD_COMPLETION_H
#define IOC_EXPORTER_BPF_SHARED_RECORD_COMPLETION_H

#include <linux/types.h>

#include "shared/histogram.h"

/* Completions of one record, by its address, that came after dbProcess had returned. */
struct iocx_completion {
	__u64 sum_ns; /* from the start of dbProcess */
	__u64 buckets[IOCX_PUT_HIST_SLOTS];
};

/* Records of one IOC whose completions are timed. */
#define IOCX_MAX_COMPLETIONS 16384

#endif
