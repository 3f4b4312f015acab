// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
/*
 * An empty program, to measure what a probe itself costs. It is only attached to the exporter itself, for a moment at
 * its start.
 */
#include <linux/types.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

SEC("uprobe")
int empty_hit(void *ctx)
{
	(void)ctx;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
