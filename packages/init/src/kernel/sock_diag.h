/* Sockets of the network namespace asked from the kernel over netlink. No capability is needed for it. */
#ifndef LAMEDUCK_SOCK_DIAG_H
#define LAMEDUCK_SOCK_DIAG_H

#include "tcp_row.h"

#include <stddef.h>

enum diag_end { DIAG_MORE, DIAG_DONE, DIAG_ERROR };

/* Visits the sockets in one netlink datagram. Returns whether the dump goes on. */
enum diag_end parse_diag(const void *datagram, size_t length, tcp_row_visitor *visit, void *context);

/* Visits all sockets of both families in one of `states` (bits 1 << enum tcp_state). False where sock_diag is missing. */
bool dump_sockets(uint32_t states, bool with_info, tcp_row_visitor *visit, void *context);

#endif
