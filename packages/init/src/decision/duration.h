/* Durations as people write them: the mirror of packages/drain/src/duration.ts. */
#ifndef LAMEDUCK_DURATION_H
#define LAMEDUCK_DURATION_H

#include <stdbool.h>
#include <stddef.h>

/* "300ms", "5s", "1.5s", "2m", "1h"; a bare number is milliseconds. At most 30 days. */
bool parse_duration(const char *text, double *milliseconds, const char **problem);

/* "300ms", "5s", "1.5s": the shortest exact form. */
const char *format_duration(double milliseconds, char *buffer, size_t size);

#endif
