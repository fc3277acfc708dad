/* Flags as environment variables. */
#ifndef LAMEDUCK_VARIABLES_H
#define LAMEDUCK_VARIABLES_H

#include "flags.h"

bool flags_from_environment(struct settings *settings, struct error *error);

/*
 * Writes where the option with that long name was given: "--floor" or "LAMEDUCK_FLOOR". Returns true for a variable. Other names are
 * copied unchanged.
 */
enum { LONGEST_PLACE = 48 };
bool given_by_variable(struct settings *settings, const char *name, char place[LONGEST_PLACE]);

/*
 * What the library for Node may read below: who holds before it, and by which times and policy. Those that flags have set are told as variables, so that
 * both count with the same.
 */
void tell_program(const struct settings *settings);

/* Warns of variables that look misspelt. Silent about others: a newer injector may set what an older pod does not know. */
void warn_of_misspelt_variables(const struct logger *logger);

#endif
