/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Texts in the memory of a program in C++ that was built with GCC's library. It has two layouts of std::string: since
 * C++11 a pointer, the length and room for 15 characters (32 bytes), before a pointer to characters that their length
 * stands in front of (8 bytes). Which of them is there, it shows itself: what is in it must be consistent. Part of an
 * object that has read_at().
 */
#ifndef IOC_EXPORTER_BPF_PVA_CXX_H
#define IOC_EXPORTER_BPF_PVA_CXX_H

#define CXX_STRING 32                   /* size of a std::string since C++11 */
#define CXX_OLD_STRING 8                /* before */
#define CXX_SHORT 16                    /* so many bytes are in the string itself, with the zero byte */
#define CXX_MOST_TEXT (1ULL << 31)      /* of a message of PV Access */
#define CXX_LOWEST_POINTER (1ULL << 16) /* vm.mmap_min_addr */
#define CXX_MOST_REFERENCES (1 << 16)   /* counted in a string before C++11, from 0; -1: not shared */

struct cxx_text {
	__u64 at;
	__u64 length;
	__u32 size; /* of the string itself */
};

struct cxx_vector {
	__u64 begin, end, room;
};

static __always_inline int ends_in_zero(__u64 at, __u64 length)
{
	__u8 last = 1;

	return !read_at(&last, 1, at + length) && last == 0;
}

/* Whether there is the text that a string before C++11 points to. */
static __always_inline int find_old_text(struct cxx_text *text, __u64 at)
{
	struct {
		__u64 length, room;
		__s32 references;
	} before = {};

	if (read_at(&before, sizeof before, at - sizeof before) || before.references < -1 ||
	    before.references > CXX_MOST_REFERENCES || before.length >= CXX_MOST_TEXT || before.length > before.room ||
	    !ends_in_zero(at, before.length))
		return 0;
	text->length = before.length;
	text->size = CXX_OLD_STRING;
	return 1;
}

/*
 * Whether there is a std::string at the address. Behind one from before C++11 another member follows where a newer one
 * has its length: a pointer, which is small enough for a length in a program that is not position independent.
 */
static __always_inline int find_text(struct cxx_text *text, __u64 string)
{
	struct {
		__u64 at, length;
	} now = {};

	if (read_at(&now, sizeof now, string))
		return 0;
	text->at = now.at;
	if (now.length >= CXX_LOWEST_POINTER && find_old_text(text, now.at))
		return 1;
	text->length = now.length;
	text->size = CXX_STRING;
	if (now.length < (now.at == string + 16 ? CXX_SHORT : CXX_MOST_TEXT) && ends_in_zero(now.at, now.length))
		return 1;
	return now.length < CXX_LOWEST_POINTER && find_old_text(text, now.at);
}

/* Whether there is a std::vector<char> with a text at the address, its zero byte included. */
static __always_inline int find_vector_text(struct cxx_text *text, __u64 vector)
{
	struct cxx_vector it = {};

	if (read_at(&it, sizeof it, vector) || it.begin >= it.end || it.end > it.room ||
	    it.end - it.begin > CXX_MOST_TEXT)
		return 0;
	text->at = it.begin;
	text->length = it.end - it.begin - 1;
	text->size = sizeof it;
	return ends_in_zero(text->at, text->length);
}

/* Copies up to `size` bytes of the text, to its first zero byte. Its length, -1: it cannot be read. */
static __always_inline long copy_text(char *to, __u32 size, const struct cxx_text *text)
{
	/* The zero byte included; but of an empty text older kernels (6.1) say 0. */
	const long length = bpf_probe_read_user_str(to, size, (const void *)(unsigned long)text->at);

	return length > 0 ? length - 1 : length;
}

#endif
