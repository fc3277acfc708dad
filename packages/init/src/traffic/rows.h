/* Interprets the sockets that the kernel lists: a new connection, an ended one, one to a port that is not ours. */
#ifndef LAMEDUCK_ROWS_H
#define LAMEDUCK_ROWS_H

#include "traffic.h"

/* Visitors of rows; the context is the struct traffic. */

/* For a dump. */
void take_open(void *context, const struct tcp_row *row);
/* For an event. */
void take_ended(void *context, const struct tcp_row *row);
/* For a dump where no events are available; the dump includes TIME_WAIT. */
void take_without_events(void *context, const struct tcp_row *row);

#endif
