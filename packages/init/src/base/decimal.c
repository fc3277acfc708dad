#include "decimal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool parse_decimal(const char *text, size_t length, double *value)
{
	char number[64], *end;
	/* strtod also takes signs, spaces, hexadecimal, infinity and "5.", none of which is a setting. */
	if (length == 0 || length >= sizeof number || strspn(text, "0123456789.eE+-") < length || text[0] == '+' ||
	    text[0] == '-' || text[length - 1] == '.')
		return false;
	memcpy(number, text, length);
	number[length] = '\0';
	*value = strtod(number, &end);
	return *end == '\0' && end != number && isfinite(*value);
}
