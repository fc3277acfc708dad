#include "duration.h"

#include "../base/text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const double longest_duration_ms = 30.0 * 24 * 3600000;

static double unit_of(const char *text, size_t length)
{
	static const struct {
		const char *name;
		double milliseconds;
	} units[] = { { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 } };
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (strlen(units[i].name) == length && memcmp(units[i].name, text, length) == 0)
			return units[i].milliseconds;
	return NAN;
}

/* Digits with at most one point, as the form (\d+(\.\d+)?|\.\d+) has it; strtod alone would take "1e3", "0x1p3" and "inf". */
static const char *end_of_number(const char *text)
{
	const char *at = text;
	while (isdigit((unsigned char)*at))
		at++;
	if (*at == '.' && isdigit((unsigned char)at[1])) {
		at++;
		while (isdigit((unsigned char)*at))
			at++;
	}
	return at;
}

bool parse_duration(const char *text, const char *option, double *milliseconds, struct error *error)
{
	const char *at = text;
	while (isspace((unsigned char)*at))
		at++;
	size_t length = strlen(at);
	while (length > 0 && isspace((unsigned char)at[length - 1]))
		length--;
	bool negative = *at == '-';
	const char *number = at + negative;
	const char *end = end_of_number(number);
	const char *unit = end;
	while (unit < at + length && isspace((unsigned char)*unit))
		unit++;
	size_t unit_length = (size_t)(at + length - unit);
	double factor = unit_length == 0 ? 1 : unit_of(unit, unit_length);
	double value;
	if (isnan(factor) || !parse_decimal(number, (size_t)(end - number), &value)) {
		error_set(error, ERROR_BAD_DURATION, option, "\"%s\" is not a duration", text);
		return false;
	}
	*milliseconds = value * factor;
	if (negative && value > 0)
		error_set(error, ERROR_BAD_DURATION, option, "\"%s\" is negative", text);
	else if (unit_length == 0 && value > 0)
		error_set(error, ERROR_BAD_DURATION, option,
			  "\"%.*s\" has no unit: write \"%.*ss\" for %.*s seconds or \"%.*sms\" for %.*s milliseconds",
			  (int)length, at, (int)length, at, (int)length, at, (int)length, at, (int)length, at);
	else if (*milliseconds > longest_duration_ms)
		error_set(error, ERROR_BAD_DURATION, option, "\"%s\" is longer than 30 days", text);
	else
		return true;
	return false;
}

/* At most `places` decimals and no trailing zeros, as JavaScript's +x.toFixed(places) prints. */
static void shortest(double value, int places, const char *unit, char *buffer, size_t size)
{
	snprintf(buffer, size, "%.*f", places, value);
	char *end = buffer + strlen(buffer);
	while (end > buffer && end[-1] == '0')
		end--;
	if (end > buffer && end[-1] == '.')
		end--;
	snprintf(end, size - (size_t)(end - buffer), "%s", unit);
}

const char *format_duration(double milliseconds, char *buffer, size_t size)
{
	if (milliseconds != 0 && fabs(milliseconds) < 1000)
		shortest(milliseconds, 1, "ms", buffer, size);
	else
		shortest(milliseconds / 1000, 3, "s", buffer, size);
	return buffer;
}
