/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Value of a field before it is written to, from the IOC's memory, by the channel's dbAddr. Part of an object that
 * has read_at(), read_text() and struct channel_address. src/iocs/memory/base_layout.h has the whole structs.
 */
#ifndef IOC_EXPORTER_BPF_PUTLOG_OLD_VALUE_BPF_H
#define IOC_EXPORTER_BPF_PUTLOG_OLD_VALUE_BPF_H

#define DESCRIPTION_RECORD_TYPE 24 /* dbFldDes.pdbRecordType */
#define DESCRIPTION_SPECIAL 34     /* dbFldDes.special */
#define DESCRIPTION_CHOICES 64     /* dbFldDes.ftPvt: dbMenu * or dbDeviceMenu * */
#define RECORD_TYPE_FIELDS 120     /* dbRecordType.no_fields */
#define RECORD_TYPE_SORTED 136     /* dbRecordType.papsortFldName, sortFldInd */
#define RECORD_TYPE_FIELD_DES 168  /* dbRecordType.papFldDes */
#define FIELD_OFFSET 74            /* dbFldDes.offset */
#define MENU_COUNT 24              /* dbMenu.nChoice */
#define MENU_TEXTS 40              /* dbMenu.papChoiceValue */
#define DEVICE_MENU_COUNT 0        /* dbDeviceMenu.nChoice */
#define DEVICE_MENU_TEXTS 8        /* dbDeviceMenu.papChoice */
#define SPC_DBADDR 2
#define STATE_NAME_SIZE 26 /* of bo, mbbo and their like, one behind the other */
#define SEARCH_STEPS 10    /* a thousand fields */
#define NO_LENGTH 0xFFFF   /* iocx_server_slot.length_at: the array's length is not known */

/* As a number that is ordered as strcmp() orders the texts. */
#define FIELD_NAME4(a, b, c, d) ((__u64)(a) << 56 | (__u64)(b) << 48 | (__u64)(c) << 40 | (__u64)(d) << 32)

/*
 * The offset of the record type's field with that name of four letters, by its sorted names as dbFindField() uses
 * them; 0: there is none. No branch depends on what is read: the verifier follows one path.
 */
static __attribute__((noinline)) __u16 putlog_field_offset(__u64 record_type, __u64 wanted)
{
	struct {
		__u64 names;
		__u64 indices;
	} sorted = {};
	__u64 low = 0, high, at, text, less;
	__u64 name;
	__u16 offset = 0;
	__s16 fields = 0, index = 0;
	int i;

	if (read_at(&fields, sizeof fields, record_type + RECORD_TYPE_FIELDS) || fields <= 0 ||
	    read_at(&sorted, sizeof sorted, record_type + RECORD_TYPE_SORTED))
		return 0;
	high = fields;
	for (i = 0; i < SEARCH_STEPS; i++) {
		at = (low + high) >> 1;
		text = 0;
		name = 0;
		read_at(&text, sizeof text, sorted.names + 8 * at);
		bpf_probe_read_user_str(&name, sizeof name, (const void *)(unsigned long)text);
		name = __builtin_bswap64(name);
		/* All ones: the field is behind this one. Names are ASCII, so that neither number is negative. */
		less = (__u64)((__s64)(name - wanted) >> 63);
		IOCX_CA_OPAQUE(less);
		low = (low & ~less) | ((at + 1) & less);
		high = (high & less) | (at & ~less);
	}
	name = 0;
	if (low >= (__u64)fields || read_at(&text, sizeof text, sorted.names + 8 * low) ||
	    bpf_probe_read_user_str(&name, sizeof name, (const void *)(unsigned long)text) < 0 ||
	    __builtin_bswap64(name) != wanted)
		return 0;
	if (read_at(&index, sizeof index, sorted.indices + 2 * low) || index < 0 ||
	    read_at(&text, sizeof text, record_type + RECORD_TYPE_FIELD_DES) ||
	    read_at(&text, sizeof text, text + 8ULL * (__u16)index))
		return 0;
	read_at(&offset, sizeof offset, text + FIELD_OFFSET);
	return offset;
}

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

/*
 * Of a field that its record's support finds (SPC_DBADDR): where the record has the array and how long it is, for
 * waveform and its like and for aSub. Others keep that in their own ways, such as the ring of compress.
 */
static __always_inline void putlog_note_array(struct iocx_server_slot *slot, __u64 record_type,
					      const struct channel_address *address)
{
	const __u64 val = FIELD_NAME4('V', 'A', 'L', 0);
	__u64 text = 0, name = 0, wanted;

	read_at(&text, sizeof text, address->description + FIELD_NAME);
	bpf_probe_read_user_str(&name, sizeof name, (const void *)(unsigned long)text);
	name = __builtin_bswap64(name);
	if (name == val) {
		slot->data_at = putlog_field_offset(record_type, FIELD_NAME4('B', 'P', 'T', 'R'));
		wanted = slot->data_at           ? FIELD_NAME4('N', 'O', 'R', 'D')
			 : address->elements > 1 ? FIELD_NAME4('L', 'E', 'N', 0)
						 : 0;
	} else if ((name & ~FIELD_NAME4(0, 0, 0, 0xFF)) == val) {
		wanted = FIELD_NAME4('N', 'E', 'V', name >> 32 & 0xFF);
	} else {
		wanted = FIELD_NAME4('N', 'E', name >> 56, 0); /* there is none for a name of more letters */
	}
	slot->length_at = putlog_field_offset(record_type, wanted);
	if (!slot->length_at && (slot->data_at || address->elements > 1))
		slot->length_at = NO_LENGTH;
}

/* Of a channel that was just found: what later puts need to find its field's value. */
static __always_inline void putlog_note_channel(struct iocx_server_slot *slot, const struct iocx_server_ioc *ioc,
						__u64 application)
{
	struct channel_address address;
	__u64 record_type = 0;
	__s16 special = 0;

	slot->by_db_addr = ioc->by_db_addr;
	slot->enum_type = ioc->enum_type;
	slot->application = application;
	slot->data_at = slot->length_at = slot->states_at = slot->states = 0;
	if (putlog_read_address(&address, application, ioc->by_db_addr) ||
	    read_at(&record_type, sizeof record_type, address.description + DESCRIPTION_RECORD_TYPE) ||
	    read_at(&special, sizeof special, address.description + DESCRIPTION_SPECIAL))
		return;
	if (special == SPC_DBADDR)
		putlog_note_array(slot, record_type, &address);
	/* mbbo's VAL is special, too: it has no array. */
	if (!slot->data_at && ioc->enum_type && address.field_type == ioc->enum_type) {
		slot->states = 16;
		slot->states_at = putlog_field_offset(record_type, FIELD_NAME4('Z', 'R', 'S', 'T'));
		if (!slot->states_at) {
			slot->states = 2;
			slot->states_at = putlog_field_offset(record_type, FIELD_NAME4('Z', 'N', 'A', 'M'));
		}
	}
}

/* Where the field's value is, and how many elements it has now. */
static __always_inline int putlog_find_value(const struct iocx_server_slot *slot, struct channel_address *address,
					     __u32 sid, __u32 *flags)
{
	__u32 found = 0, length = 0;

	if (!slot->application || slot->length_at == NO_LENGTH ||
	    read_at(&found, sizeof found, slot->application + CHANNEL_SID_OFFSET) || found != sid ||
	    putlog_read_address(address, slot->application, slot->by_db_addr))
		return -1;
	*flags |= address->elements > 1 || slot->data_at ? IOCX_PUTLOG_IS_ARRAY : 0;
	if (slot->data_at && read_at(&address->field, sizeof address->field, address->record + slot->data_at))
		return -1;
	if (slot->length_at) {
		if (read_at(&length, sizeof length, address->record + slot->length_at))
			return -1;
		address->elements = length;
	}
	return address->elements < 0 || address->field_size <= 0 ? -1 : 0;
}

/* The text of a choice, `value` being its number; 0: it has none. */
static __always_inline __u64 putlog_choice_text(const struct iocx_server_slot *slot,
						const struct channel_address *address, __u16 value)
{
	const __s16 type = address->field_type;
	const int is_menu = type == slot->enum_type + 1; /* DBF_MENU, DBF_DEVICE */
	__u64 menu = 0, texts = 0, text = 0;
	__u32 count = 0;

	if (type == slot->enum_type)
		return slot->states_at && value < slot->states
			       ? address->record + slot->states_at + STATE_NAME_SIZE * value
			       : 0;
	if (!is_menu && type != slot->enum_type + 2)
		return 0;
	if (read_at(&menu, sizeof menu, address->description + DESCRIPTION_CHOICES) || !menu ||
	    read_at(&count, sizeof count, menu + (is_menu ? MENU_COUNT : DEVICE_MENU_COUNT)) || value >= count ||
	    read_at(&texts, sizeof texts, menu + (is_menu ? MENU_TEXTS : DEVICE_MENU_TEXTS)) ||
	    read_at(&text, sizeof text, texts + 8ULL * value))
		return 0;
	return text;
}

#endif
