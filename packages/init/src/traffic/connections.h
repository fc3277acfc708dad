/* The inbound connections known to be open, so that the end of one is not taken for a connection that came and went unseen. */
#pragma once

#include "../kernel/tcp_row.h"

#include <stddef.h>

struct connection {
	struct address peer;
	uint16_t peer_port; /* 0: free slot */
	uint16_t local_port;
	bool removed;
	uint16_t generation; /* the dump that saw it last */
	uint32_t segments;
	uint64_t bytes; /* received */
	uint64_t sent;
	double came_after; /* it came later than that for sure */
	double undecided_since; /* when it came, while it may still turn out to be a probe; NAN once that is known */
	double accepted_at; /* NAN while it waits in the accept queue */
	double active_since; /* NAN while silent */
};

struct connections {
	struct connection *slots;
	size_t size; /* a power of two */
	size_t used; /* slots that are not free, removed ones among them */
	size_t count;
};

/* The entry of `row`, or NULL. An entry that had received more is of an earlier connection between the same ports: it is removed. */
struct connection *connections_find(struct connections *connections, const struct tcp_row *row);
/* A new entry for `row`, or NULL when memory is short. */
struct connection *connections_add(struct connections *connections, const struct tcp_row *row);
/* Removes the entry of `row`, and copies it to `taken`. False where there is none. */
bool connections_take(struct connections *connections, const struct tcp_row *row, struct connection *taken);
/* Removes the entries that were neither in the dump `generation` nor in the one before it. */
void connections_sweep(struct connections *connections, uint16_t generation);
void connections_free(struct connections *connections);
