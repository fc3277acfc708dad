#include "decimal.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static double scaled(double value, int exponent)
{
	double power = 1;
	for (int i = exponent < 0 ? -exponent : exponent; i > 0; i--)
		power *= 10; /* exact up to 10^22 */
	return exponent < 0 ? value / power : value * power;
}

/* "e-4" at the end; false where something else is there. */
static bool read_exponent(const char *at, const char *end, int *exponent)
{
	if (at == end)
		return true;
	if (*at != 'e' && *at != 'E')
		return false;
	at++;
	bool negative = at < end && *at == '-';
	at += at < end && (*at == '-' || *at == '+');
	if (at == end)
		return false;
	int value = 0;
	for (; at < end && is_digit(*at); at++)
		if (value < 1000)
			value = value * 10 + (*at - '0');
	*exponent += negative ? -value : value;
	return at == end;
}

bool parse_decimal(const char *text, size_t length, double *value)
{
	const char *at = text;
	const char *end = text + length;
	int exponent = 0;
	size_t digits = 0;
	double mantissa = 0;
	for (bool fraction = false; at < end && (is_digit(*at) || (*at == '.' && !fraction)); at++) {
		if (*at == '.') {
			fraction = true;
			continue;
		}
		digits++;
		/* Beyond 2^53 further digits cannot change a setting. */
		if (mantissa < 9e15)
			mantissa = mantissa * 10 + (*at - '0');
		else
			exponent++;
		exponent -= fraction;
	}
	if (digits == 0 || at[-1] == '.' || !read_exponent(at, end, &exponent) || exponent > 300 || exponent < -300)
		return false;
	*value = scaled(mantissa, exponent);
	return true;
}
