#ifndef LAMEDUCK_REPORT_H
#define LAMEDUCK_REPORT_H

#include "hold.h"

/* One line that says that the hold has begun, why ("SIGTERM", "preStop") and how long it may take. */
void report_begin(const struct hold *hold, const char *why, double now);

/* Why it ended, in a word. */
const char *report_reason(const struct hold *hold);

/* One line that says why the hold ended and what was seen of the traffic meanwhile. */
void report_end(const struct hold *hold, const char *and_then, double now);

/* One line that says what is seen now and what is waited for. */
void report_now(const struct hold *hold, double now);

#endif
