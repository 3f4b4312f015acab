/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * The identity that a PV Access client claims: the payload of its CONNECTION_VALIDATION. Pure C without I/O that clang -target
 * bpf and g++ both compile.
 *
 * It names a method. With `ca` comes a structure of strings, `user` and `host` among them, with its description; of other
 * methods nothing more is read. A description by the number of an earlier one, fields that are no strings, and more than
 * IOCX_PVA_IDENTITY bytes are refused: the method is known then, and the user is not.
 */
#ifndef IOC_EXPORTER_BPF_SHARED_PVA_IDENTITY_H
#define IOC_EXPORTER_BPF_SHARED_PVA_IDENTITY_H

#include "shared/pva_events.h"

#define IOCX_PVA_TYPE_NULL 0xFFu
#define IOCX_PVA_TYPE_NEW_ID 0xFDu /* a number for later use, and the description */
#define IOCX_PVA_TYPE_STRUCTURE 0x80u
#define IOCX_PVA_TYPE_STRING 0x60u
#define IOCX_PVA_IDENTITY_FIELDS 6u

/* A part of the payload, by its offset. */
struct iocx_pva_text {
	__u32 at;
	__u32 size;
};

struct iocx_pva_identity {
	struct iocx_pva_text method;
	struct iocx_pva_text user;
	struct iocx_pva_text host;
	__u32 refused; /* user and host could not be read */
	/* While it is read: here and not on the stack, so that the verifier forgets the values. */
	__u32 at;
	__u32 size;
	__u32 fields;
	__u32 user_field; /* its number */
	__u32 host_field;
	struct iocx_pva_text text;
};

/* The byte of the payload at `at`; 0 behind its end. IOCX_PVA_IDENTITY bytes can be read at `bytes`. */
IOCX_CA_INLINE __u32 iocx_pva_peek(const __u8 *bytes, __u32 size, __u32 at)
{
	if (at >= size || at >= IOCX_PVA_IDENTITY)
		return 0;
	IOCX_CA_MASK(at, 255);
	return bytes[at];
}

/* The next byte. */
IOCX_CA_INLINE __u32 iocx_pva_next(const __u8 *bytes, struct iocx_pva_identity *id)
{
	const __u32 byte = iocx_pva_peek(bytes, id->size, id->at);

	id->at++;
	IOCX_CA_FORGET();
	return byte;
}

/* Reads a string to id->text. Sizes over 253 do not fit, and end the reading. Returns 0 at the end. */
IOCX_CA_INLINE int iocx_pva_take(const __u8 *bytes, struct iocx_pva_identity *id)
{
	id->text.size = iocx_pva_next(bytes, id);
	id->text.at = id->at;
	IOCX_CA_FORGET();
	id->at += id->text.size;
	IOCX_CA_FORGET();
	return id->text.size <= 253 && id->at <= id->size;
}

/* Four letters of the payload as one number. */
IOCX_CA_INLINE __u32 iocx_pva_letters(const __u8 *bytes, __u32 size, __u32 at)
{
	if (at + 4 > size || at > IOCX_PVA_IDENTITY - 4)
		return 0;
	IOCX_CA_MASK(at, 255);
	return iocx_ca_u32(bytes + at);
}

#define IOCX_PVA_IS_USER 0x75736572u /* "user" */
#define IOCX_PVA_IS_HOST 0x686F7374u /* "host" */

/* Reads the description of a field, the one with number `i`. */
IOCX_CA_INLINE int iocx_pva_take_field(const __u8 *bytes, struct iocx_pva_identity *id, __u32 i)
{
	__u32 letters;

	if (!iocx_pva_take(bytes, id) || iocx_pva_next(bytes, id) != IOCX_PVA_TYPE_STRING)
		return 0;
	letters = id->text.size == 4 ? iocx_pva_letters(bytes, id->size, id->text.at) : 0;
	if (letters == IOCX_PVA_IS_USER)
		id->user_field = i;
	if (letters == IOCX_PVA_IS_HOST)
		id->host_field = i;
	IOCX_CA_FORGET();
	return 1;
}

/* Reads the value of the field with number `i`. */
IOCX_CA_INLINE int iocx_pva_take_value(const __u8 *bytes, struct iocx_pva_identity *id, __u32 i)
{
	if (!iocx_pva_take(bytes, id))
		return 0;
	if (i == id->user_field)
		id->user = id->text;
	if (i == id->host_field)
		id->host = id->text;
	IOCX_CA_FORGET();
	return 1;
}

/* Reads the description of the structure and the values behind it. Returns 0 when it is another one. */
IOCX_CA_INLINE int iocx_pva_take_structure(const __u8 *bytes, struct iocx_pva_identity *id)
{
	id->user_field = id->host_field = IOCX_PVA_IDENTITY_FIELDS;
	if (iocx_pva_peek(bytes, id->size, id->at) == IOCX_PVA_TYPE_NEW_ID)
		id->at += 3;
	IOCX_CA_FORGET();
	if (iocx_pva_next(bytes, id) != IOCX_PVA_TYPE_STRUCTURE || !iocx_pva_take(bytes, id))
		return 0;
	id->fields = iocx_pva_next(bytes, id);
	IOCX_CA_FORGET();
	if (id->fields > IOCX_PVA_IDENTITY_FIELDS)
		return 0;
	for (__u32 i = 0; i < IOCX_PVA_IDENTITY_FIELDS; i++)
		if (i < id->fields && !iocx_pva_take_field(bytes, id, i))
			return 0;
	for (__u32 i = 0; i < IOCX_PVA_IDENTITY_FIELDS; i++)
		if (i < id->fields && !iocx_pva_take_value(bytes, id, i))
			return 0;
	return id->user_field < IOCX_PVA_IDENTITY_FIELDS;
}

/*
 * Reads the payload of IOCX_PVA_IDENTIFY at `bytes`, `size` bytes of it; IOCX_PVA_IDENTITY bytes can be read there.
 * `whole`: that is all of it.
 */
IOCX_CA_INLINE void iocx_pva_read_identity(const __u8 *bytes, __u32 size, int whole, struct iocx_pva_identity *id)
{
	__builtin_memset(id, 0, sizeof *id);
	id->refused = 1;
	id->at = 8;
	id->size = size;
	IOCX_CA_FORGET();
	if (!iocx_pva_take(bytes, id))
		return;
	id->method = id->text;
	/* Without a structure, and by other methods, the server knows nobody by name. */
	if ((whole && (id->at >= id->size || iocx_pva_peek(bytes, id->size, id->at) == IOCX_PVA_TYPE_NULL)) ||
	    id->method.size != 2 || iocx_pva_peek(bytes, id->size, id->method.at) != 'c' ||
	    iocx_pva_peek(bytes, id->size, id->method.at + 1) != 'a')
		id->refused = 0;
	else if (whole && iocx_pva_take_structure(bytes, id))
		id->refused = 0;
	else
		id->user.size = id->host.size = 0;
}

#endif
