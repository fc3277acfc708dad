#ifndef LAMEDUCK_DECIMAL_H
#define LAMEDUCK_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The number that all `length` characters spell, such as 12, 1.5, .25 or 2e-4; no signs, no hexadecimal, no infinity. Up to 15
 * digits are read exactly as strtod does, which would bring 6 kB of code for the rest.
 */
bool parse_decimal(const char *text, size_t length, double *value);

#endif
