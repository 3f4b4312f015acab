/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * The cheap check that most packets fail: is one of the ports watched? Part of tap/packet.bpf.c. It sets what the
 * filter costs traffic that is not Channel Access: one load of the word that holds the ports in most packets, and
 * one look-up in the bitmap of watched ports. The load is a call to the kernel, half of the cost.
 */

#define IPV4_HEADER 20
#define LONGEST_OPTION 40

/* Facts of a packet before its TCP or UDP header is read. */
struct packet {
	__u32 at;       /* offset of the IP header */
	__u32 above;    /* offset of the TCP or UDP header */
	__u32 end;      /* end of the IP packet; padding may follow */
	__u32 protocol; /* IPPROTO_TCP, IPPROTO_UDP */
	__u32 source_port;
	__u32 destination_port;
	__u32 source_watched;
	__u32 destination_watched;
};

/*
 * The load instruction of classic BPF, which is cheaper than bpf_skb_load_bytes(). Gives the word in host byte order;
 * ends the program when the packet is shorter.
 */
unsigned long long load_word(void *skb, unsigned long long at) asm("llvm.bpf.load.word");

static __always_inline int has_watched_port(struct packet *packet, __be16 source, __be16 destination)
{
	struct iocx_ca_port_set *set = only_element(&ca_watched);

	if (!set)
		return 0;
	packet->source_port = bpf_ntohs(source);
	packet->destination_port = bpf_ntohs(destination);
	packet->source_watched = is_watched(set, packet->source_port);
	packet->destination_watched = is_watched(set, packet->destination_port);
	return packet->source_watched | packet->destination_watched;
}

/*
 * Whether the word where a plain IPv4 packet has its ports can be the start of options (RFC 791, section 3.1): a type
 * and a length, or types without a length. Few ports look like that.
 */
static __always_inline int may_be_options(__u32 word)
{
	const __u32 type = word >> 24, second = (word >> 16) & 0xFF, third = (word >> 8) & 0xFF;

	if (type > 1)
		return second >= 2 && second <= LONGEST_OPTION;
	return second <= 1 || (third >= 2 && third <= LONGEST_OPTION);
}

/* Whether a packet that starts with its IP header must be read further. Most need not. */
static __always_inline int may_be_of_interest(struct __sk_buff *skb, __be16 protocol)
{
	struct iocx_ca_port_set *set;
	__u32 ports;

	if (protocol != bpf_htons(ETH_P_IP))
		return 0;
	ports = load_word(skb, IPV4_HEADER);
	if (may_be_options(ports))
		return 1;
	set = only_element(&ca_watched);
	return set && (is_watched(set, ports >> 16) | is_watched(set, ports & 0xFFFF));
}
