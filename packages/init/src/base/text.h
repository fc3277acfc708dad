/* Small readers for the kernel's tables and for arguments, and a text that is written by appending. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 0 to 15, or -1. */
int hex_digit(char c);

/* These return the character after what they read, or NULL where it is not there. */
const char *skip_spaces(const char *at);
const char *expect(const char *at, char c);
const char *read_hex(const char *at, unsigned digits, uint32_t *value); /* this number of digits, or 1 to 8 where 0 is given */
const char *read_decimal(const char *at, uint64_t *value); /* what does not fit becomes UINT64_MAX */

/* Whether the whole text is a number within the bounds. */
bool is_number(const char *text, uint64_t least, uint64_t most, uint64_t *value);

/* The number that all `length` characters spell, such as 12, 1.5, .25 or 2e-4; no signs, no hexadecimal, no infinity. */
bool parse_decimal(const char *text, size_t length, double *value);

/* What does not fit is cut. */
struct writer {
	char *at;
	size_t left;
};

__attribute__((format(printf, 2, 3))) void text_add(struct writer *text, const char *format, ...);
