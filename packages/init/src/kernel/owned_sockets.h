/* Which sockets belong to the processes that can be seen from here, by inode: in a container, to its own processes. */
#ifndef LAMEDUCK_OWNED_SOCKETS_H
#define LAMEDUCK_OWNED_SOCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Marks in `owned` those of `inodes` that some process holds open. False where no process could be read. */
bool find_owned_sockets(const uint32_t *inodes, size_t count, bool *owned);

#endif
