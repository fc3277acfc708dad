/* The table of flags: each has a long name, which is also an environment variable (--request-quiet: LAMEDUCK_REQUEST_QUIET). */
#ifndef LAMEDUCK_FLAGS_H
#define LAMEDUCK_FLAGS_H

#include "settings.h"

bool flags_from_environment(struct settings *settings, struct error *error);

/* `next` is the first argument to read, and then the first that is no flag. */
bool flags_from_arguments(struct settings *settings, int argc, char *const *argv, int *next, struct error *error);

/*
 * Where the option of that long name was said: "--floor" or "LAMEDUCK_FLOOR", as its user can type it. True for the latter; other names are
 * left as they are.
 */
enum { LONGEST_PLACE = 48 };
bool said_in_environment(struct settings *settings, const char *name, char place[LONGEST_PLACE]);

/* A newer injector may set variables that an older pod does not know: one line each for those that look like slips, and silence for the others. */
void warn_of_misspelt_variables(const struct logger *logger);

#endif
