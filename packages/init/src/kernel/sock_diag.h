/* TCP sockets of the network namespace, from the kernel over netlink: the open sockets, and those that end. No capability is needed. */
#pragma once

#include "tcp_row.h"

#include <stddef.h>

enum diag_end { DIAG_MORE, DIAG_DONE, DIAG_ERROR };

/* Visits the sockets in one netlink datagram. Returns whether the dump goes on. */
enum diag_end parse_diag(const void *datagram, size_t length, tcp_row_visitor *visit, void *context);

/* Visits all sockets of both families in one of `states` (bits 1 << enum tcp_state). False where sock_diag is missing. */
bool diag_dump(uint32_t states, bool with_info, tcp_row_visitor *visit, void *context);

/*
 * A non-blocking socket on which the kernel announces each connection that ends, or -1 where it does not. It costs each connection some 15 %: only
 * during a hold.
 */
int diag_subscribe_ended(void);

/* Visits the connections that have ended, with their tcp_info. False when some were lost because they were not read in time. */
bool diag_read_ended(int fd, tcp_row_visitor *visit, void *context);
