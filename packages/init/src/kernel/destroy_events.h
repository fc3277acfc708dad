/* A message from the kernel for each TCP connection that ends, with its peer and tcp_info. No capability is needed. */
#ifndef LAMEDUCK_DESTROY_EVENTS_H
#define LAMEDUCK_DESTROY_EVENTS_H

#include "tcp_row.h"

/* A non-blocking socket, or -1 where there are no such events. Costs each connection some 15 %: only during a hold. */
int subscribe_to_destroyed(void);

/* Visits what has come; false when some were lost because they were not read in time. */
bool read_destroyed(int fd, tcp_row_visitor *visit, void *context);

#endif
