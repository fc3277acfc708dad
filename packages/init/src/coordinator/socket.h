/* Connections that are opened without waiting for the other side. */
#pragma once

#include "../kernel/address.h"

/* `type`: SOCK_STREAM, or SOCK_DGRAM. -1 where no socket can be opened. */
int connect_to(const struct address *address, uint16_t port, int type);

/* Whether the connection stands: 1, 0 while it is not decided yet, -1 where it has failed. */
int is_connected(int fd);
