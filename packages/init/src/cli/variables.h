/* Flags as environment variables. */
#pragma once

#include "flags.h"

bool flags_from_environment(struct settings *settings, struct error *error);

/* Writes the place where an option was given: "--floor" or "LAMEDUCK_FLOOR". Returns true for a variable. Other names are copied unchanged. */
enum { LONGEST_PLACE = 48 };
bool given_by_variable(struct settings *settings, const char *name, char place[LONGEST_PLACE]);

/*
 * Sets the variables that the library for Node may read below: who holds before it, and by which times and policy. Settings that came as flags are
 * passed as variables, so that both decide with the same settings.
 */
void tell_program(const struct settings *settings);

/* Warns of variables that look misspelt. Other unknown variables are ignored: a newer injector may set what an older pod does not know. */
void warn_of_misspelt_variables(const struct logger *logger);
