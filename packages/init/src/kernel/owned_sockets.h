/* Which sockets are held by processes that are visible from here: in a container, those of its own. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* False ends the walk, when all that was looked for is found. */
typedef bool inode_visitor(void *context, uint32_t inode);

/* Visits the inode of each socket that a visible process holds. */
void visit_owned_sockets(inode_visitor *visit, void *context);
