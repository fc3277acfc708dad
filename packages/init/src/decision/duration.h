/* Durations as people write them: the mirror of packages/drain/src/duration.ts. */
#pragma once

#include "errors.h"

#include <stdbool.h>
#include <stddef.h>

/* "300ms", "5s", "1.5s", "2m", "1h", at most 30 days; only "0" needs no unit. False with `error` filled in, where `option` is the place. */
bool parse_duration(const char *text, const char *option, double *milliseconds, struct error *error);

/* "300ms", "5s", "1.5s": the shortest exact form. */
const char *format_duration(double milliseconds, char *buffer, size_t size);
