/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * What the BPF verifier needs to be told in code that clang -target bpf and g++ both compile. In C++ all but the
 * masks are nothing.
 */
#ifndef IOC_EXPORTER_BPF_SHARED_VERIFIER_H
#define IOC_EXPORTER_BPF_SHARED_VERIFIER_H

/*
 * What was read from memory is read again from here on, and so unknown to the verifier once more: paths
 * that met different values become one. Without it, it follows all of them through the rest of the loop.
 */
#ifdef __bpf__
#define IOCX_CA_FORGET() asm volatile("" : : : "memory")
#else
#define IOCX_CA_FORGET() ((void)0)
#endif

/* Unknown to the compiler from here on, not to the verifier: keeps an index an index. */
#ifdef __bpf__
#define IOCX_CA_OPAQUE(value) asm volatile("" : "+r"(value))
#else
#define IOCX_CA_OPAQUE(value) ((void)0)
#endif

/* The verifier must see each bound on the very register that is added to a pointer. */
#ifdef __bpf__
#define IOCX_CA_MASK(value, mask) asm volatile("%0 &= %1" : "+r"(value) : "i"(mask))
#else
#define IOCX_CA_MASK(value, mask) ((value) &= (mask))
#endif

#endif
