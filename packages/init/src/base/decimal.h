#ifndef LAMEDUCK_DECIMAL_H
#define LAMEDUCK_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>

/* The number that all `length` characters spell, such as 12, 1.5, .25 or 2e-4; no signs, no hexadecimal, no infinity. */
bool parse_decimal(const char *text, size_t length, double *value);

#endif
