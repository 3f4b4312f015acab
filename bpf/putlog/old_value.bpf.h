/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* Value of a field before it is written to by a channel of rsrv, and the choice that is written. Part of ca_server_probe.bpf.c. */
#ifndef IOC_EXPORTER_BPF_PUTLOG_OLD_VALUE_BPF_H
#define IOC_EXPORTER_BPF_PUTLOG_OLD_VALUE_BPF_H

#include "putlog/field_value.bpf.h"

#define NO_NUMBER 0xFFFFFFFFu
#define MOST_DIGITS 5 /* of a choice's number */
#define MOST_CHOICES 16

/* Of a channel that was just found: what later puts need to find its field's value. */
static __always_inline void on_put_channel(struct iocx_server_slot *slot, __u8 enum_type)
{
	struct channel_address address;

	if (!cfg_putlog_bytes)
		return;
	if (read_address(&address, slot->application, slot->by_db_addr))
		slot->field = (struct iocx_field_layout){.enum_type = enum_type};
	else
		putlog_note_field(&slot->field, &address, enum_type);
}

/* Where the field's value is, and how many elements it has now. */
static __always_inline int putlog_find_value(const struct iocx_server_slot *slot, struct channel_address *address,
					     __u32 sid, __u32 *flags, __u32 *most)
{
	__u32 found = sid;

	if (!slot->application ||
	    (!slot->inside && read_at(&found, sizeof found, slot->application + CHANNEL_SID_OFFSET)) || found != sid ||
	    read_address(address, slot->application, slot->by_db_addr))
		return -1;
	return putlog_find_elements(&slot->field, address, flags, most);
}

/* The whole part of a floating-point number; 0xFFFFFFFF: it is below 0, or above all choices. */
static __always_inline __u32 putlog_whole_part(__u64 bits, __u32 fraction_bits, __u32 exponent_bits)
{
	const __u64 exponent = bits >> fraction_bits, bias = (1ULL << (exponent_bits - 1)) - 1;
	const __u64 fraction = (bits & ((1ULL << fraction_bits) - 1)) | 1ULL << fraction_bits;

	if (exponent < bias)
		return 0;
	return exponent - bias < 16 ? fraction >> (fraction_bits - (exponent - bias)) : NO_NUMBER;
}

/* Of a text that is a number of a few digits; else 0xFFFFFFFF. No branch depends on it, as below. */
static __always_inline __u32 putlog_number_in(__u64 text)
{
	__u64 number = 0, goes_on = 1, is_none = 1 ^ ((text & 0xFF) + 0xFF) >> 8, digit;
	int i;

	for (i = 0; i <= MOST_DIGITS; i++, text >>= 8) {
		goes_on &= ((text & 0xFF) + 0xFF) >> 8; /* up to its zero byte */
		digit = (text & 0xFF) - '0';
		is_none |= goes_on & (digit | (9 - digit)) >> 63; /* below '0', above '9' */
		number += goes_on * (9 * number + digit);
	}
	return number | -(is_none | goes_on);
}

/*
 * Of one element of a plain DBR type, by its first 8 bytes, as it travelled or as an IOC has it; 0xFFFFFFFF: none. This
 * function and the next are global: the verifier looks at them once, not on each way to them.
 */
__attribute__((noinline)) __u32 putlog_sent_number(__u64 bytes, __u32 plain, __u32 in_order)
{
	const __u32 shift = (64 - 8 * iocx_dbr_value_size(plain)) & 63;

	if (plain == IOCX_DBR_STRING)
		return putlog_number_in(bytes);
	bytes = (in_order ? bytes << shift : __builtin_bswap64(bytes)) >> shift;
	if (plain == IOCX_DBR_DOUBLE)
		return putlog_whole_part(bytes, 52, 11);
	if (plain == IOCX_DBR_FLOAT)
		return putlog_whole_part(bytes, 23, 8);
	return bytes & 0xFFFF; /* the lower half of a DBR_LONG, too */
}

/*
 * Whether a choice's text is that number, or may be: the server takes a text for a choice's first. Behind the last
 * choice something else is read, and not looked at. The first three arguments are a struct putlog_choices.
 */
__attribute__((noinline)) int putlog_is_choice(__u64 at, __u32 count, __u32 is_table, __u32 number)
{
	__u64 word, before, found = (MOST_CHOICES - (__u64)count) >> 63;
	int i;

	for (i = 0; i < MOST_CHOICES; i++) {
		word = at;
		if (is_table && read_at(&word, sizeof word, at))
			word = 0;
		at += is_table ? sizeof(__u64) : STATE_NAME_SIZE;
		before = word;
		word = 0;
		bpf_probe_read_user_str(&word, sizeof word, (const void *)(unsigned long)before);
		word = putlog_number_in(word) ^ number;
		before = (__u64)i - count;
		IOCX_CA_OPAQUE(before); /* the compiler would make a branch of it */
		found |= ((word - 1) & before) >> 63;
	}
	return found != 0;
}

/* The text of the choice that is written as a number, of any type; 0: it is none. `value`: where that is in the IOC. */
static __always_inline __u64 putlog_sent_choice(const struct iocx_field_layout *layout,
						const struct channel_address *address, __u64 value, __u32 type,
						__u32 in_order)
{
	const __u32 plain = iocx_dbr_plain(type);
	struct putlog_choices choices;
	__u64 bytes = 0;
	__u32 number;

	if (read_at(&bytes, sizeof bytes, value))
		return 0;
	number = putlog_sent_number(bytes, plain, in_order);
	putlog_find_choices(&choices, layout, address);
	if (number >= choices.count ||
	    (plain == IOCX_DBR_STRING && putlog_is_choice(choices.at, choices.count, choices.is_table, number)))
		return 0;
	return putlog_text_of(&choices, number);
}

#endif
