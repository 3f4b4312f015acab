/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Hints for the BPF verifier, in code that clang -target bpf and g++ both compile. In C++ they do nothing, but for
 * the mask, which is a plain one.
 */
#ifndef IOC_EXPORTER_BPF_SHARED_VERIFIER_H
#define IOC_EXPORTER_BPF_SHARED_VERIFIER_H

/*
 * Values that were read from memory are read again from here on, so that the verifier forgets what it knew of them:
 * paths with different values become one. Without this, it follows each of them through the rest of the loop.
 */
#ifdef __bpf__
#define IOCX_CA_FORGET() asm volatile("" : : : "memory")
#else
#define IOCX_CA_FORGET() ((void)0)
#endif

/* Hides a value from the compiler, not from the verifier: an index stays an index. */
#ifdef __bpf__
#define IOCX_CA_OPAQUE(value) asm volatile("" : "+r"(value))
#else
#define IOCX_CA_OPAQUE(value) ((void)0)
#endif

/* A mask that stays: the verifier needs the bound on the very register that is added to a pointer. */
#ifdef __bpf__
#define IOCX_CA_MASK(value, mask) asm volatile("%0 &= %1" : "+r"(value) : "i"(mask))
#else
#define IOCX_CA_MASK(value, mask) ((value) &= (mask))
#endif

#endif
