/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Present value of a field, from the IOC's memory, by its dbAddr. Part of an object that has read_at().
 * src/iocs/memory/base_layout.h has the whole structs.
 */
#ifndef IOC_EXPORTER_BPF_PUTLOG_FIELD_VALUE_BPF_H
#define IOC_EXPORTER_BPF_PUTLOG_FIELD_VALUE_BPF_H

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
#define NO_LENGTH 0xFFFF   /* iocx_field_layout.length_at: the array's length is not known */

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

/*
 * Of a field that its record's support finds (SPC_DBADDR): where the record has the array and how long it is, for
 * waveform and its like and for aSub. Others keep that in their own ways, such as the ring of compress.
 */
static __always_inline void putlog_note_array(struct iocx_field_layout *layout, __u64 record_type,
					      const struct channel_address *address)
{
	const __u64 val = FIELD_NAME4('V', 'A', 'L', 0);
	__u64 text = 0, name = 0, wanted;

	read_at(&text, sizeof text, address->description + FIELD_NAME);
	bpf_probe_read_user_str(&name, sizeof name, (const void *)(unsigned long)text);
	name = __builtin_bswap64(name);
	if (name == val) {
		layout->data_at = putlog_field_offset(record_type, FIELD_NAME4('B', 'P', 'T', 'R'));
		wanted = layout->data_at         ? FIELD_NAME4('N', 'O', 'R', 'D')
			 : address->elements > 1 ? FIELD_NAME4('L', 'E', 'N', 0)
						 : 0;
	} else if ((name & ~FIELD_NAME4(0, 0, 0, 0xFF)) == val) {
		wanted = FIELD_NAME4('N', 'E', 'V', name >> 32 & 0xFF);
	} else {
		wanted = FIELD_NAME4('N', 'E', name >> 56, 0); /* there is none for a name of more letters */
	}
	layout->length_at = putlog_field_offset(record_type, wanted);
	if (!layout->length_at && (layout->data_at || address->elements > 1))
		layout->length_at = NO_LENGTH;
}

/* What later puts need to find the value of a field of that kind. */
static __always_inline void putlog_note_field(struct iocx_field_layout *layout, const struct channel_address *address,
					      __u8 enum_type)
{
	__u64 record_type = 0;
	__s16 special = 0;

	layout->enum_type = enum_type;
	layout->data_at = layout->length_at = layout->states_at = layout->states = 0;
	if (read_at(&record_type, sizeof record_type, address->description + DESCRIPTION_RECORD_TYPE) ||
	    read_at(&special, sizeof special, address->description + DESCRIPTION_SPECIAL))
		return;
	if (special == SPC_DBADDR)
		putlog_note_array(layout, record_type, address);
	/* mbbo's VAL is special, too: it has no array. */
	if (!layout->data_at && enum_type && address->field_type == enum_type) {
		layout->states = 16;
		layout->states_at = putlog_field_offset(record_type, FIELD_NAME4('Z', 'R', 'S', 'T'));
		if (!layout->states_at) {
			layout->states = 2;
			layout->states_at = putlog_field_offset(record_type, FIELD_NAME4('Z', 'N', 'A', 'M'));
		}
	}
}

/* Makes of a dbAddr where the field's value is, and how many elements it has now. `most`: that it has room for. */
static __always_inline int putlog_find_elements(const struct iocx_field_layout *layout, struct channel_address *address,
						__u32 *flags, __u32 *most)
{
	__u32 length = 0;

	*most = address->elements;
	if (layout->length_at == NO_LENGTH)
		return -1;
	*flags |= address->elements > 1 || layout->data_at ? IOCX_PUTLOG_IS_ARRAY : 0;
	if (layout->data_at && read_at(&address->field, sizeof address->field, address->record + layout->data_at))
		return -1;
	if (layout->length_at) {
		if (read_at(&length, sizeof length, address->record + layout->length_at))
			return -1;
		address->elements = length;
	}
	return address->elements < 0 || address->field_size <= 0 ? -1 : 0;
}

/* Texts of a field's choices: states, one behind the other, or a menu's table of pointers. */
struct putlog_choices {
	__u64 at;
	__u32 count;
	__u32 is_table;
};

/* count 0: it has none. */
static __always_inline void putlog_find_choices(struct putlog_choices *choices, const struct iocx_field_layout *layout,
						const struct channel_address *address)
{
	const __s16 type = address->field_type;
	const int is_menu = type == layout->enum_type + 1; /* DBF_MENU, DBF_DEVICE */
	__u64 menu = 0;

	choices->at = choices->count = choices->is_table = 0;
	if (type == layout->enum_type) {
		choices->at = address->record + layout->states_at;
		choices->count = layout->states_at ? layout->states : 0;
		return;
	}
	if (!is_menu && type != layout->enum_type + 2)
		return;
	choices->is_table = 1;
	if (read_at(&menu, sizeof menu, address->description + DESCRIPTION_CHOICES) || !menu ||
	    read_at(&choices->at, sizeof choices->at, menu + (is_menu ? MENU_TEXTS : DEVICE_MENU_TEXTS)))
		return;
	read_at(&choices->count, sizeof choices->count, menu + (is_menu ? MENU_COUNT : DEVICE_MENU_COUNT));
}

/* Of any number: the caller knows how many there are. */
static __always_inline __u64 putlog_text_of(const struct putlog_choices *choices, __u32 number)
{
	__u64 text = choices->at + STATE_NAME_SIZE * number;

	if (choices->is_table && read_at(&text, sizeof text, choices->at + 8ULL * number))
		text = 0;
	return text;
}

/* The text of a choice, `value` being its number; 0: it has none. */
static __always_inline __u64 putlog_choice_text(const struct iocx_field_layout *layout,
						const struct channel_address *address, __u16 value)
{
	struct putlog_choices choices;

	putlog_find_choices(&choices, layout, address);
	return value < choices.count ? putlog_text_of(&choices, value) : 0;
}

/* A choice's text, which stands in its room behind the number. */
static __always_inline int putlog_add_text(__u8 *room, __u64 text)
{
	return text && bpf_probe_read_user_str(room + IOCX_PUTLOG_CHOICE, IOCX_PUTLOG_CHOICE_SIZE,
					       (const void *)(unsigned long)text) > 0;
}

static __always_inline int putlog_add_choice(__u8 *room, const struct iocx_field_layout *layout,
					     const struct channel_address *address, __u16 number)
{
	return putlog_add_text(room, putlog_choice_text(layout, address, number));
}

/* Whether the field has one element that a choice may stand for. */
static __always_inline int putlog_may_be_choice(const struct iocx_field_layout *layout,
						const struct channel_address *address)
{
	return layout && layout->enum_type && address->elements == 1 && address->field_size == sizeof(__u16);
}

/* What the field has, of `wanted` bytes, behind the value. Whether that is one element that a choice may stand for. */
static __always_inline int putlog_add_old_value(struct iocx_putlog_event *event, const struct iocx_field_layout *layout,
						const struct channel_address *address, __u32 most, __u32 wanted,
						__u32 room)
{
	__u8 *old = event->bytes + room;

	if (wanted > room)
		wanted = room;
	IOCX_CA_OPAQUE(wanted);
	if (wanted > room || read_at(old, wanted, address->field))
		return 0;
	event->old_count = address->elements;
	event->old_bytes = wanted;
	event->field_type = address->field_type;
	event->field_size = address->field_size;
	event->most = most;
	if (!putlog_may_be_choice(layout, address))
		return 0;
	if (putlog_add_choice(old, layout, address, *(__u16 *)old))
		event->flags |= IOCX_PUTLOG_HAS_CHOICE;
	return 1;
}

#endif
