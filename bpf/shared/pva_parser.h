/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * PV Access parser without I/O: bytes of one direction of a circuit in, events out, one message or one name of a
 * CREATE_CHANNEL a step. Pure C that clang -target bpf and g++ both compile. Positions, the window and the bytes that are
 * carried over are those of shared/ca_stream.h, and it is called in the same way as shared/ca_parser.h; while
 * iocx_ca_is_out_of_sync(), search for the next message with shared/pva_resync.h.
 *
 * Values are not decoded: what they are depends on types that were sent earlier. A message may come in segments, each
 * with a header. The fields that are read here must stand in the first one, as all implementations send them; else the
 * message is IOCX_PVA_UNREADABLE.
 */
#ifndef IOC_EXPORTER_BPF_SHARED_PVA_PARSER_H
#define IOC_EXPORTER_BPF_SHARED_PVA_PARSER_H

#include "shared/pva_stream.h"

/* A list of names that ends too early. In the last segment the receiver finds that out, too. */
IOCX_CA_INLINE int iocx_pva_cut_names(struct iocx_pva_stream *s, struct iocx_ca_window *w, struct iocx_pva_event *e)
{
	if (!s->segmented)
		return iocx_pva_refuse(s, w, e, IOCX_PVA_REFUSED_ALL);
	s->names = 0;
	iocx_ca_pass(&s->stream, w, s->payload);
	e->kind = IOCX_PVA_UNREADABLE;
	return IOCX_CA_MORE;
}

/* Bytes of the size of a string, and the size: a byte, or 254 and four more bytes; 255 is no string at all. */
IOCX_CA_INLINE __u32 iocx_pva_size_bytes(__u8 first)
{
	return first == 254 ? 5 : 1;
}

/*
 * Reads the next channel of a CREATE_CHANNEL at offset e->at: a CID and a name. An empty name ends the list: pvxs does not
 * read what follows, pvAccessCPP closes the circuit.
 */
IOCX_CA_INLINE int iocx_pva_read_name(struct iocx_pva_stream *s, struct iocx_ca_window *w, struct iocx_pva_event *e)
{
	const __u8 *p = w->bytes + iocx_ca_at(w, w->pos);
	__u32 head = 5, kept;
	__u64 total;

	if (s->payload < head)
		return iocx_pva_cut_names(s, w, e);
	if (w->left < head)
		return iocx_ca_keep(&s->stream, w, e->at);
	e->length = p[4] == 255 ? 0 : p[4];
	head = 4 + iocx_pva_size_bytes(p[4]);
	if (head == 9) {
		if (s->payload < head)
			return iocx_pva_cut_names(s, w, e);
		if (w->left < head)
			return iocx_ca_keep(&s->stream, w, e->at);
		e->length = iocx_pva_u32(p + 5, s->big);
	}
	IOCX_CA_FORGET();
	total = (__u64)head + e->length;
	if (s->payload < total)
		return iocx_pva_cut_names(s, w, e);
	kept = e->length < IOCX_CA_NAME ? e->length : IOCX_CA_NAME - 1;
	if (w->left < head + kept)
		return iocx_ca_keep(&s->stream, w, e->at);
	e->id = iocx_pva_u32(p, s->big);
	e->at += head;
	e->size = kept;
	s->names = (__u16)(e->length ? s->names - 1 : 0);
	if (!s->names)
		total = s->payload;
	s->payload -= (__u32)total;
	IOCX_CA_FORGET();
	iocx_ca_pass(&s->stream, w, total);
	if (e->length)
		e->kind = IOCX_PVA_CREATE;
	return IOCX_CA_MORE;
}

/* A request; `p`: its payload. */
IOCX_CA_INLINE void iocx_pva_read_request(struct iocx_pva_stream *s, struct iocx_pva_event *e, const __u8 *p)
{
	e->id = iocx_pva_u32(p, e->big);
	e->other = iocx_pva_u32(p + 4, e->big);
	e->command = e->header.command;
	e->sub = p[8];
	if (e->sub & IOCX_PVA_SUB_INIT) {
		e->kind = IOCX_PVA_INIT;
	} else if (!iocx_pva_is_put(e->command, e->sub)) {
		e->kind = IOCX_PVA_ASK;
	} else {
		s->stream.unfinished = (__u8)e->command;
		s->stream.unfinished_sid = e->id;
		s->stream.unfinished_ioid = e->other;
		s->sub = (__u8)e->sub;
	}
}

IOCX_CA_INLINE void iocx_pva_read_to_server(struct iocx_pva_stream *s, struct iocx_pva_event *e, const __u8 *p)
{
	if (iocx_pva_is_request(e->header.command)) {
		iocx_pva_read_request(s, e, p);
		return;
	}
	switch (e->header.command) {
	case IOCX_PVA_CMD_CONNECTION_VALIDATION:
		e->kind = IOCX_PVA_IDENTIFY;
		return;
	case IOCX_PVA_CMD_DESTROY_CHANNEL:
		e->kind = IOCX_PVA_DESTROY;
		break;
	case IOCX_PVA_CMD_DESTROY_REQUEST:
		e->kind = IOCX_PVA_END_REQUEST;
		break;
	default:
		return;
	}
	e->id = iocx_pva_u32(p, e->big);
	e->other = iocx_pva_u32(p + 4, e->big);
}

/*
 * A middle or the last segment of a message: its payload belongs to what was read of the first one. In another byte order
 * it is read differently: pvxs takes all of the message in the last one, pvAccessCPP each segment in its own.
 */
IOCX_CA_INLINE int iocx_pva_continue(struct iocx_pva_stream *s, struct iocx_ca_window *w, struct iocx_pva_event *e)
{
	s->segmented = (e->header.flags & IOCX_PVA_FIRST) != 0;
	if (e->big != s->big) {
		s->names = 0;
		s->stream.unfinished = 0;
		e->kind = IOCX_PVA_UNREADABLE;
	}
	if (s->names) {
		w->pos += IOCX_PVA_HEADER;
		s->payload = e->header.size;
		return IOCX_CA_MORE;
	}
	iocx_ca_pass(&s->stream, w, (__u64)IOCX_PVA_HEADER + e->header.size);
	iocx_pva_end_message(s, e);
	return IOCX_CA_MORE;
}

/* An application message that is not continued. Its header is read, and not passed yet. */
IOCX_CA_INLINE int iocx_pva_read_first(struct iocx_pva_stream *s, struct iocx_ca_window *w, struct iocx_pva_event *e)
{
	const __u64 total = (__u64)IOCX_PVA_HEADER + e->header.size;
	const __u8 *p = w->bytes + iocx_ca_at(w, w->pos) + IOCX_PVA_HEADER;

	s->big = (__u8)e->big;
	s->segmented = (e->header.flags & IOCX_PVA_FIRST) != 0;
	if (e->header.size < iocx_pva_shortest(w->direction, e->header.command)) {
		/* pvAccessCPP closes the circuit; pvxs reads on behind a request, unless it is MONITOR. */
		if (!s->segmented &&
		    (!iocx_pva_is_request(e->header.command) || e->header.command == IOCX_PVA_CMD_MONITOR))
			return iocx_pva_refuse(s, w, e, IOCX_PVA_REFUSED_ALL);
		e->kind = IOCX_PVA_UNREADABLE;
		iocx_ca_pass(&s->stream, w, total);
		return IOCX_CA_MORE;
	}
	IOCX_CA_FORGET();
	if (w->direction == IOCX_CA_TO_SERVER && e->header.command == IOCX_PVA_CMD_CREATE_CHANNEL) {
		s->names = (__u16)iocx_pva_u16(p, e->big);
		s->payload = e->header.size - 2;
		iocx_ca_pass(&s->stream, w, s->names ? IOCX_PVA_HEADER + 2 : total);
		return IOCX_CA_MORE;
	}
	e->at += IOCX_PVA_HEADER;
	e->length = e->header.size;
	if (w->direction == IOCX_CA_TO_SERVER)
		iocx_pva_read_to_server(s, e, p);
	else
		iocx_pva_read_to_client(e, p, e->size);
	IOCX_CA_FORGET();
	iocx_ca_pass(&s->stream, w, total);
	iocx_pva_end_message(s, e);
	return IOCX_CA_MORE;
}

/* A segment that continues nothing. pvAccessCPP passes over an empty one; else the server closes the circuit. */
IOCX_CA_INLINE int iocx_pva_lone_segment(struct iocx_pva_stream *s, struct iocx_ca_window *w, struct iocx_pva_event *e)
{
	if (e->header.size)
		return iocx_pva_refuse(s, w, e, s->stream.first ? IOCX_PVA_NOT_PVA : IOCX_PVA_REFUSED_ALL);
	s->stream.first = 0;
	w->pos += IOCX_PVA_HEADER;
	e->kind = IOCX_PVA_UNREADABLE;
	return IOCX_CA_MORE;
}

/* The boundaries that were found again are wrong: the search goes on behind `pos`. */
IOCX_CA_INLINE int iocx_pva_distrust(struct iocx_pva_stream *s, struct iocx_ca_window *w)
{
	s->stream.unfinished = 0;
	s->stream.sync = IOCX_CA_LOST;
	s->names = 0;
	s->segmented = 0;
	w->pos++;
	return IOCX_CA_OUT_OF_SYNC;
}

/* The server says which byte order it reads. */
IOCX_CA_INLINE void iocx_pva_set_order(struct iocx_pva_stream *s, struct iocx_pva_event *e)
{
	s->big = (__u8)e->big;
	e->kind = IOCX_PVA_BYTE_ORDER;
}

/* Reads one message, or as much of it as there is. Its header is at offset e->at. */
IOCX_CA_INLINE int iocx_pva_read_message(struct iocx_pva_stream *s, struct iocx_ca_window *w, struct iocx_pva_event *e)
{
	const __u8 *p = w->bytes + iocx_ca_at(w, w->pos);
	const __u32 wrong = s->stream.first ? IOCX_PVA_NOT_PVA : IOCX_PVA_REFUSED_ALL;
	int continued;

	/* A stranger's message may be shorter than a header. */
	if (s->stream.first && p[0] != IOCX_PVA_MAGIC)
		return iocx_pva_refuse(s, w, e, wrong);
	if (w->left < IOCX_PVA_HEADER)
		return iocx_ca_keep(&s->stream, w, e->at);
	if (s->stream.sync == IOCX_CA_FOLLOWED && !iocx_pva_may_be_header(p, w->direction))
		return iocx_pva_refuse(s, w, e, wrong);
	if (s->stream.sync != IOCX_CA_FOLLOWED) {
		if (!iocx_pva_plausible(p, w->direction))
			return iocx_pva_distrust(s, w);
		if (s->stream.to_check)
			s->stream.to_check--;
		else
			s->stream.sync = IOCX_CA_FOLLOWED;
	}
	iocx_pva_read_header(p, &e->header);
	IOCX_CA_FORGET();
	e->big = e->header.flags & IOCX_PVA_BIG_ENDIAN;
	if (e->header.flags & IOCX_PVA_CONTROL) {
		if (e->header.command == IOCX_PVA_SET_BYTE_ORDER && w->direction == IOCX_CA_TO_CLIENT)
			iocx_pva_set_order(s, e);
		else if (s->stream.first && w->direction == IOCX_CA_TO_CLIENT)
			return iocx_pva_refuse(s, w, e, wrong);
		s->stream.first = 0;
		w->pos += IOCX_PVA_HEADER;
		return IOCX_CA_MORE;
	}
	/* The server speaks first. Of a client, pvxs takes any message, also before it has said who it is. */
	if (s->stream.first && w->direction == IOCX_CA_TO_CLIENT)
		return iocx_pva_refuse(s, w, e, wrong);
	continued = (e->header.flags & IOCX_PVA_CONTINUED) != 0;
	if (continued && !s->segmented) {
		/* After boundaries were found again, it may be the end of a message whose start was not seen. */
		if (s->stream.sync == IOCX_CA_FOLLOWED)
			return iocx_pva_lone_segment(s, w, e);
		s->big = (__u8)e->big;
	}
	IOCX_CA_FORGET();
	if (!continued && s->segmented) {
		/* pvxs closes the circuit; pvAccessCPP has read the first segment as a message. */
		s->segmented = 0;
		s->names = 0;
		iocx_pva_end_message(s, e);
		if (e->kind == IOCX_PVA_PUT)
			return IOCX_CA_MORE;
	}
	IOCX_CA_FORGET();
	e->size = continued ? 0 : iocx_pva_needed(w->direction, &e->header);
	if (w->left < IOCX_PVA_HEADER + e->size)
		return iocx_ca_keep(&s->stream, w, e->at);
	s->stream.first = 0;
	IOCX_CA_FORGET();
	return continued ? iocx_pva_continue(s, w, e) : iocx_pva_read_first(s, w, e);
}

/* One step, as iocx_ca_step(). */
IOCX_CA_INLINE int iocx_pva_step(struct iocx_pva_stream *s, struct iocx_ca_window *w, struct iocx_pva_event *e)
{
	e->kind = IOCX_PVA_NOTHING;
	if (w->pos >= w->end)
		return IOCX_CA_DONE;
	if (s->stream.skip)
		return iocx_pva_finish(s, w, e);
	w->left = w->end - w->pos;
	e->at = iocx_ca_at(w, w->pos);
	if (s->names && s->payload)
		return iocx_pva_read_name(s, w, e);
	if (s->names && !s->segmented)
		return iocx_pva_refuse(s, w, e, IOCX_PVA_REFUSED_ALL);
	return iocx_pva_read_message(s, w, e);
}

#endif
