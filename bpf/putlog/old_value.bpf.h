/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* Value of a field before it is written to by a channel of rsrv. Part of ca_server_probe.bpf.c. */
#ifndef IOC_EXPORTER_BPF_PUTLOG_OLD_VALUE_BPF_H
#define IOC_EXPORTER_BPF_PUTLOG_OLD_VALUE_BPF_H

#include "putlog/field_value.bpf.h"

/* The dbAddr of a channel, which is read for each put: the end of a channel is not seen. */
static __always_inline int putlog_read_address(struct channel_address *address, __u64 application, __u8 by_db_addr)
{
	__u64 at = application + CHANNEL_RECORD;

	if (!by_db_addr) {
		if (read_at(&at, sizeof at, at))
			return -1;
		at += 8; /* dbChannel.addr */
	}
	return read_at(address, sizeof *address, at);
}

/* Of a channel that was just found: what later puts need to find its field's value. */
static __always_inline void putlog_note_channel(struct iocx_server_slot *slot, const struct iocx_server_ioc *ioc,
						__u64 application)
{
	struct channel_address address;

	slot->by_db_addr = ioc->by_db_addr;
	slot->application = application;
	if (putlog_read_address(&address, application, ioc->by_db_addr))
		slot->field = (struct iocx_field_layout){.enum_type = ioc->enum_type};
	else
		putlog_note_field(&slot->field, &address, ioc->enum_type);
}

/* Where the field's value is, and how many elements it has now. */
static __always_inline int putlog_find_value(const struct iocx_server_slot *slot, struct channel_address *address,
					     __u32 sid, __u32 *flags)
{
	__u32 found = sid;

	if (!slot->application ||
	    (!slot->inside && read_at(&found, sizeof found, slot->application + CHANNEL_SID_OFFSET)) || found != sid ||
	    putlog_read_address(address, slot->application, slot->by_db_addr))
		return -1;
	return putlog_find_elements(&slot->field, address, flags);
}

#endif
