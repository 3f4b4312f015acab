/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Channel Access parser without I/O: bytes of one direction of a circuit in, events out, one message a step. clang
 * -target bpf compiles it into the tap, g++ into user space (tests/support/ca_stream.h), so that the tests test the code that
 * the kernel runs.
 *
 * To parse a segment, call iocx_ca_begin(), then iocx_ca_step() until it returns IOCX_CA_DONE. Before each step,
 * fill the window when iocx_ca_wants_bytes() asks for it. While iocx_ca_is_out_of_sync(), search for the next
 * message with ca_resync.h instead; before IOCX_CA_REGAINED, prove the boundaries with it.
 */
#ifndef IOC_EXPORTER_BPF_SHARED_CA_PARSER_H
#define IOC_EXPORTER_BPF_SHARED_CA_PARSER_H

#include "shared/ca_stream.h"

/* Whether the segment ends within the header at offset `at`. */
IOCX_CA_INLINE int iocx_ca_is_cut(const struct iocx_ca_window *w, __u32 at)
{
	if (w->left < IOCX_CA_HEADER)
		return 1;
	IOCX_CA_MASK(at, IOCX_CA_REACH - 1);
	return w->left < IOCX_CA_LONG_HEADER && iocx_ca_is_long(w->bytes + at);
}

/* Skips the remainder of a message whose header came in an earlier segment. */
IOCX_CA_INLINE void iocx_ca_finish(struct iocx_ca_stream *s, struct iocx_ca_window *w, struct iocx_ca_event *e)
{
	const __u32 left = w->end - w->pos;

	if (s->skip > left) {
		s->skip -= left;
		w->pos = w->end;
		return;
	}
	w->pos += (__u32)s->skip;
	s->skip = 0;
	if (s->unfinished)
		iocx_ca_finish_put(s, e);
}

/* Whether rsrv closes the circuit at this message of `total` bytes. */
IOCX_CA_INLINE int iocx_ca_ends_circuit(const struct iocx_ca_header *h, __u64 total)
{
	return total % 8 || h->command > IOCX_CA_CMD_SERVER_DISCONN || !(IOCX_CA_BIT(h->command) & IOCX_CA_HANDLED);
}

/* The first message of a client is VERSION. One that no client has is of another protocol, which is not read. */
IOCX_CA_INLINE void iocx_ca_check_first(struct iocx_ca_stream *s, struct iocx_ca_window *w, struct iocx_ca_event *e)
{
	const struct iocx_ca_header *h = &w->header;

	s->first = 0;
	if (w->direction != IOCX_CA_TO_SERVER || h->command == IOCX_CA_CMD_VERSION)
		return;
	if (iocx_ca_ends_circuit(h, (__u64)h->length + h->size))
		iocx_ca_refuse(s, w, e);
	e->kind = IOCX_CA_NOT_CA;
}

/* The boundaries that were found again are wrong: the search goes on behind `pos`. */
IOCX_CA_INLINE int iocx_ca_distrust(struct iocx_ca_stream *s, struct iocx_ca_window *w)
{
	s->sync = IOCX_CA_LOST;
	w->pos += 8;
	return IOCX_CA_OUT_OF_SYNC;
}

/* Begins a step of either protocol. Another result than IOCX_CA_HAS_BYTES is that of the step. */
IOCX_CA_INLINE int iocx_ca_next_message(struct iocx_ca_stream *s, struct iocx_ca_window *w, struct iocx_ca_event *e)
{
	e->kind = IOCX_CA_NOTHING;
	if (w->pos >= w->end)
		return IOCX_CA_DONE;
	if (s->skip) {
		iocx_ca_finish(s, w, e);
		return IOCX_CA_MORE;
	}
	w->left = w->end - w->pos;
	e->at = iocx_ca_at(w, w->pos);
	return IOCX_CA_HAS_BYTES;
}

/* Begins a step: reads the header at `pos`. Another result than IOCX_CA_HAS_HEADER is that of the step. */
IOCX_CA_INLINE int iocx_ca_next_header(struct iocx_ca_stream *s, struct iocx_ca_window *w, struct iocx_ca_event *e)
{
	const int next = iocx_ca_next_message(s, w, e);

	if (next != IOCX_CA_HAS_BYTES)
		return next;
	if (w->left < IOCX_CA_LONG_HEADER && iocx_ca_is_cut(w, e->at))
		return iocx_ca_keep(s, w, e->at);
	iocx_ca_read_header(w->bytes + iocx_ca_at(w, w->pos), &w->header);
	IOCX_CA_FORGET();
	return IOCX_CA_HAS_HEADER;
}

/* Reads one message, or as much of it as there is. The window must reach `pos` (iocx_ca_wants_bytes). */
IOCX_CA_INLINE int iocx_ca_step(struct iocx_ca_stream *s, struct iocx_ca_window *w, struct iocx_ca_event *e)
{
	struct iocx_ca_header *h = &w->header;
	const int header = iocx_ca_next_header(s, w, e);
	__u64 total;

	if (header != IOCX_CA_HAS_HEADER)
		return header;
	if (s->first) {
		iocx_ca_check_first(s, w, e);
		return IOCX_CA_MORE; /* it is read by the next step */
	}
	total = (__u64)h->length + h->size;
	if (s->sync != IOCX_CA_FOLLOWED) {
		if (!iocx_ca_plausible(w->direction, h) || (w->direction == IOCX_CA_TO_SERVER && total > IOCX_CA_FAR))
			return iocx_ca_distrust(s, w);
		if (s->to_check)
			s->to_check--;
		else
			s->sync = IOCX_CA_FOLLOWED;
		IOCX_CA_FORGET();
	}
	if (w->direction == IOCX_CA_TO_SERVER && iocx_ca_ends_circuit(h, total))
		return iocx_ca_refuse(s, w, e);
	IOCX_CA_FORGET();
	e->id = h->parameter1;
	e->other = h->parameter2;
	if (iocx_ca_is_put(w->direction, h)) {
		e->notify = h->command == IOCX_CA_CMD_WRITE_NOTIFY;
		e->acknowledges = !e->notify && iocx_dbr_acknowledges(h->type);
		iocx_ca_pass(s, w, total);
		if (s->skip)
			iocx_ca_start_put(s, e);
		else
			e->kind = IOCX_CA_PUT;
	} else {
		e->size = iocx_ca_needed(w->direction, h);
		IOCX_CA_FORGET();
		if (w->left < h->length + e->size)
			return iocx_ca_keep(s, w, e->at);
		e->at += h->length;
		e->kind = iocx_ca_event_of(w->direction, h);
		IOCX_CA_FORGET();
		iocx_ca_pass(s, w, total);
	}
	IOCX_CA_FORGET();
	return IOCX_CA_MORE;
}

#endif
