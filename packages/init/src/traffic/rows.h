/* What each socket that the kernel shows means: a connection that came, one that has ended, one that is none of ours. */
#ifndef LAMEDUCK_ROWS_H
#define LAMEDUCK_ROWS_H

#include "traffic.h"

/* Visitors of rows; the context is the struct traffic. */

/* Of a dump. */
void take_open(void *context, const struct tcp_row *row);
/* Of an event. */
void take_ended(void *context, const struct tcp_row *row);
/* Of a dump where there are no events; TIME_WAIT is asked for, too. */
void take_without_events(void *context, const struct tcp_row *row);

#endif
