/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Breakpoints where a function ends: on the jumps of its code after which it returns (shared/function_ends.h). Unlike a
 * return probe they leave the stack as it is, so that exceptions and the end of a thread pass.
 */
#ifndef IOC_EXPORTER_BPF_BASE_FUNCTION_ENDS_H
#define IOC_EXPORTER_BPF_BASE_FUNCTION_ENDS_H

#include "shared/function_ends.h"

#if defined(__TARGET_ARCH_x86)
#define FLAG_CARRY 0x001
#define FLAG_PARITY 0x004
#define FLAG_ZERO 0x040
#define FLAG_SIGN 0x080
#define FLAG_OVERFLOW 0x800

/* Whether a conditional jump with that condition is taken. The lowest bit stands for its opposite. */
static __always_inline int jump_is_taken(__u64 flags, __u32 condition)
{
	int carry = !!(flags & FLAG_CARRY), zero = !!(flags & FLAG_ZERO), sign = !!(flags & FLAG_SIGN);
	int overflow = !!(flags & FLAG_OVERFLOW), holds = 0;

	switch (condition >> 1) {
	case 0:
		holds = overflow;
		break;
	case 1:
		holds = carry;
		break;
	case 2:
		holds = zero;
		break;
	case 3:
		holds = carry | zero;
		break;
	case 4:
		holds = sign;
		break;
	case 5:
		holds = !!(flags & FLAG_PARITY);
		break;
	case 6:
		holds = sign != overflow;
		break;
	case 7:
		holds = zero | (sign != overflow);
		break;
	}
	return holds != (int)(condition & 1);
}
#define CONDITION_HOLDS(ctx, condition) ((condition) == IOCX_END_ALWAYS || jump_is_taken((ctx)->eflags, condition))
#else
#define CONDITION_HOLDS(ctx, condition) ((condition) == IOCX_END_ALWAYS)
#endif

/* The stack pointer at the entry of the function with these ends, of which a breakpoint was hit; 0: it goes on. */
static __always_inline __u64 sp_at_entry(struct pt_regs *ctx, const struct iocx_function_ends *ends)
{
	__u16 place = PT_REGS_IP(ctx) & IOCX_END_PLACE_MASK;
	__u32 i;

	for (i = 0; i < IOCX_MOST_ENDS; i++) {
		if (i >= ends->count)
			return 0;
		if (ends->ends[i].place == place)
			return CONDITION_HOLDS(ctx, ends->ends[i].condition) ? PT_REGS_SP(ctx) + ends->ends[i].below
									     : 0;
	}
	return 0;
}

#endif
