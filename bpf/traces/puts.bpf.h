/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Which put a thread of a server does: the server probe notes it (bpf/puts/ca_server_probe.bpf.c, bpf/puts/pva_server_probe.bpf.c),
 * and the chain that it begins on the same thread takes it (bpf/traces/chains.bpf.h). User space makes the maps and gives
 * them to both objects; while traces are off there are none, and cfg_traces is 0: the verifier takes out what uses them.
 */
#ifndef IOC_EXPORTER_BPF_TRACES_PUTS_BPF_H
#define IOC_EXPORTER_BPF_TRACES_PUTS_BPF_H

#include "shared/traces.h"

/* 0: off. */
const volatile __u32 cfg_traces;

#ifndef TRACES_WITHOUT_CA
MAP(trace_puts, LRU_HASH, IOCX_TRACE_PUTS, __u64, struct iocx_trace_put); /* tgid << 32 | tid */
#endif

#ifndef TRACES_WITHOUT_PVA
MAP(trace_pva_puts, LRU_HASH, IOCX_TRACE_PUTS, __u64, struct iocx_trace_pva_put); /* tgid << 32 | tid */
#endif

#endif
