// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
/*
 * Counts and times every dbProcess() of the watched IOCs, per record.
 *
 * A probe at the entry and breakpoints at the ends (shared/function_ends.h) keep a stack of frames for each thread. An end
 * finds its frame by the stack pointer: an end that is not seen, or a second attachment, does no harm.
 *
 * The programs touch pt_regs only, no kernel structs; the helpers are those of Linux 5.10. The counts of a record need
 * no atomics: dbProcess is called with the record's lock set locked, and both probes run within the call.
 */
#include <linux/types.h>
#include <linux/errno.h>
#include <linux/ptrace.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "base/attach.bpf.h"
#include "base/durations.bpf.h"
#include "base/function_ends.bpf.h"
#include "base/maps.bpf.h"
#include "shared/histogram.h"
#include "shared/record_completion.h"
#include "shared/record_process.h"
#include "shared/record_puts.h"
#include "shared/record_caps.h"
#include "shared/scan_lists.h"
#include "shared/trace_lot.h"
#include "shared/traces.h"
#include "shared/verifier.h"
#include "records/process_maps.bpf.h"
#include "records/puts_maps.bpf.h"
#include "traces/maps.bpf.h"

MAPPED_ARRAY(record_held, IOCX_RECORD_HOLDERS, struct iocx_held);

#define HELD record_held
#include "base/caps.bpf.h"
#include "records/counts.bpf.h"
#include "records/lines.bpf.h"
#include "records/threads.bpf.h"
#include "records/verdict.bpf.h"
#include "records/hook.bpf.h"
#include "records/frames.bpf.h"
#include "traces/sending.bpf.h"
#include "traces/choosing.bpf.h"
#include "traces/spans.bpf.h"
#include "traces/inside.bpf.h"
#include "traces/chains.bpf.h"
#include "traces/links.bpf.h"
#include "records/calls.bpf.h"
#include "records/put_source.bpf.h"
#include "records/puts.bpf.h"
#include "records/scan_lists.bpf.h"
#include "records/completion.bpf.h"

ENTRY_PROGRAM(record_entry, on_entry)

SEC("uprobe")
int record_end(struct pt_regs *ctx)
{
	return on_end(ctx);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
