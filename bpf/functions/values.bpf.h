/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* Reads a described value of a call: from its registers, and from memory that may be anything. */
#ifndef IOC_EXPORTER_BPF_FUNCTIONS_VALUES_H
#define IOC_EXPORTER_BPF_FUNCTIONS_VALUES_H

#if defined(__TARGET_ARCH_x86)
#define ARGUMENTS(ROW) \
	ROW(0, rdi) ROW(1, rsi) ROW(2, rdx) ROW(3, rcx) ROW(4, r8) ROW(5, r9) ROW(IOCX_FUNCTION_RETURN, rax)
#define REGISTERS struct pt_regs
#else
#define ARGUMENTS(ROW)  \
	ROW(0, regs[0]) \
	ROW(1, regs[1]) \
	ROW(2, regs[2]) ROW(3, regs[3]) ROW(4, regs[4]) ROW(5, regs[5]) ROW(IOCX_FUNCTION_RETURN, regs[0])
#define REGISTERS struct user_pt_regs
#endif

/* In assembly: a compiler would make one load of all, at a variable offset, which the verifier refuses. */
#define LOAD_REGISTER(number, name)                                                 \
	case number:                                                                \
		asm volatile("%0 = *(u64 *)(%1 + %2)"                               \
			     : "=r"(value)                                          \
			     : "r"(ctx), "i"(__builtin_offsetof(REGISTERS, name))); \
		break;

static __always_inline __u64 register_of(struct pt_regs *ctx, __u32 root)
{
	__u64 value = 0;

	switch (root) {
		ARGUMENTS(LOAD_REGISTER)
	}
	return value;
}

/* Follows the pointers. 0: one of them leads nowhere. */
static __always_inline int follow(struct pt_regs *ctx, const struct iocx_function_value *value, __u64 *result)
{
	__u64 at = register_of(ctx, value->root), loaded;
	const __u32 loads = value->loads;
	__u32 i, size;

	for (i = 0; i < IOCX_FUNCTION_LOADS && i < loads; i++) {
		size = i + 1 == loads ? value->last_load : 8;
		loaded = 0;
		if (size > 8 || bpf_probe_read_user(&loaded, size, (const void *)(at + value->by[i])))
			return 0;
		at = loaded;
	}
	if (i > IOCX_FUNCTION_LOADS)
		return 0;
	*result = at + value->by[i];
	return 1;
}

static __always_inline int read_number(struct pt_regs *ctx, const struct iocx_function_value *value, __u64 *result)
{
	const __u32 unused = 64 - 8 * value->size;
	__u64 number;

	if (!follow(ctx, value, &number))
		return 0;
	number <<= unused & 63;
	*result = value->is_signed ? (__u64)((__s64)number >> (unused & 63)) : number >> (unused & 63);
	return 1;
}

#endif
