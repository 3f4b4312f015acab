// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
/*
 * An empty program: what a probe costs before it does anything. Attached to a child process of the
 * exporter only, for a moment at its start.
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
