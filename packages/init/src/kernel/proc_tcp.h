/* /proc/net/tcp and tcp6: the way to see sockets where sock_diag is missing (gVisor). Without tcp_info. */
#pragma once

#include "tcp_row.h"

/* One line of /proc/net/tcp or tcp6; false for the header and for anything else. */
bool parse_proc_tcp_line(const char *line, int family, struct tcp_row *row);

/* Visits sockets in one of `states`, as diag_dump does. */
bool read_proc_tcp(uint32_t states, tcp_row_visitor *visit, void *context);

/* The same for other tables of this form, such as those of UDP. False where neither can be read. */
bool read_proc_sockets(const char *v4, const char *v6, uint32_t states, tcp_row_visitor *visit, void *context);
