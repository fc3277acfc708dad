#include "text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

const char *skip_spaces(const char *at)
{
	while (*at == ' ')
		at++;
	return at;
}

const char *expect(const char *at, char c)
{
	return at && *at == c ? at + 1 : NULL;
}

const char *read_hex(const char *at, unsigned digits, uint32_t *value)
{
	unsigned read = 0;
	*value = 0;
	for (int digit; (digits == 0 || read < digits) && read < 8 && (digit = hex_digit(*at)) >= 0; at++, read++)
		*value = *value << 4 | (uint32_t)digit;
	return read == 0 || (digits && read != digits) ? NULL : at;
}

const char *read_decimal(const char *at, uint64_t *value)
{
	if (*at < '0' || *at > '9')
		return NULL;
	for (*value = 0; *at >= '0' && *at <= '9'; at++)
		*value = *value < UINT64_MAX / 10 ? *value * 10 + (uint64_t)(*at - '0') : UINT64_MAX;
	return at;
}

bool is_number(const char *text, uint64_t least, uint64_t most, uint64_t *value)
{
	const char *end = read_decimal(text, value);
	/* 18 digits cannot overflow. */
	return end && *end == '\0' && end - text <= 18 && *value >= least && *value <= most;
}

bool parse_decimal(const char *text, size_t length, double *value)
{
	char number[64], *end;
	/* strtod also takes signs, spaces, hexadecimal, infinity and "5.", which no setting may have. */
	if (length == 0 || length >= sizeof number || strspn(text, "0123456789.eE+-") < length || text[0] == '+' ||
	    text[0] == '-' || text[length - 1] == '.')
		return false;
	memcpy(number, text, length);
	number[length] = '\0';
	*value = strtod(number, &end);
	return *end == '\0' && end != number && isfinite(*value);
}

void text_add(struct writer *text, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	int length = vsnprintf(text->at, text->left, format, arguments);
	va_end(arguments);
	size_t taken = length < 0 ? 0 : (size_t)length < text->left ? (size_t)length : text->left - 1;
	text->at += taken;
	text->left -= taken;
}
