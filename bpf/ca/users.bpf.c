// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
/*
 * Which user of this host made a connection, so that users on the host have shares of the tap's tables as addresses
 * have (shared/ca_shares.h). A packet does not tell, and user space would learn it only after the first requests: here
 * it is known before the client's first byte is sent.
 *
 * Runs at each change of state of a TCP socket of the host, in all network namespaces. It reads structs of the kernel,
 * whose members it finds by the kernel's BTF (CO-RE); the members are the same from 5.10 on.
 *
 * Not of network namespaces that users may make, with a user namespace: in theirs they have any addresses, and could
 * make connections elsewhere pass for their own.
 */
#include <linux/types.h>
#include <linux/bpf.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "ca/users_map.bpf.h"
#include "ca/watched_map.bpf.h"

/* include/net/tcp_states.h */
#define TCP_ESTABLISHED 1
#define TCP_SYN_SENT 2

struct in6_addr { /* whose name the kernel's types have */
	__u8 bytes[16];
} __attribute__((preserve_access_index));

struct user_namespace {
	int level; /* 0: the initial one */
} __attribute__((preserve_access_index));

struct net {
	struct user_namespace *user_ns;
} __attribute__((preserve_access_index));

typedef struct {
	struct net *net;
} __attribute__((preserve_access_index)) possible_net_t;

struct sock_common {
	__be16 skc_dport;
	__u16 skc_num;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr; /* of IPv4, too: ::ffff:a.b.c.d */
	struct in6_addr skc_v6_rcv_saddr;
} __attribute__((preserve_access_index));

typedef struct {
	__u32 val;
} __attribute__((preserve_access_index)) kuid_t;

struct sock {
	struct sock_common __sk_common;
	kuid_t sk_uid; /* as the initial user namespace has it */
} __attribute__((preserve_access_index));

/* In any of the namespaces: which number the connection's has is not known here. */
static __always_inline int is_watched_somewhere(__u32 port)
{
	for (__u32 i = 0; i < IOCX_CA_NAMESPACES; i++) {
		const __u32 net = i;
		const struct iocx_ca_port_set *set = bpf_map_lookup_elem(&ca_watched, &net);

		if (set && is_watched(set, port))
			return 1;
	}
	return 0;
}

SEC("raw_tp/inet_sock_set_state")
int ca_user(struct bpf_raw_tracepoint_args *ctx)
{
	const struct sock *sk = (const struct sock *)ctx->args[0];
	struct iocx_ca_flow_key key = {};
	__u32 share;

	if ((__u32)ctx->args[1] != TCP_SYN_SENT || (__u32)ctx->args[2] != TCP_ESTABLISHED)
		return 0;
	if (BPF_CORE_READ(sk, __sk_common.skc_net.net, user_ns, level) != 0)
		return 0;
	BPF_CORE_READ_INTO(&key.client, sk, __sk_common.skc_v6_rcv_saddr);
	BPF_CORE_READ_INTO(&key.server, sk, __sk_common.skc_v6_daddr);
	key.client_port = BPF_CORE_READ(sk, __sk_common.skc_num);
	key.server_port = bpf_ntohs(BPF_CORE_READ(sk, __sk_common.skc_dport));
	share = iocx_ca_share_of_user(BPF_CORE_READ(sk, sk_uid.val));
	if (is_watched_somewhere(key.server_port))
		bpf_map_update_elem(&ca_users, &key, &share, BPF_ANY);
	else
		bpf_map_update_elem(&ca_users_early, &key, &share, BPF_ANY);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
