/* Where the pod listens, and which of those ports are ours to watch. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each worker that shares a port has a listening socket of its own. Listeners beyond the table are known by their ports alone. */
enum { MOST_LISTENERS = 8192, MOST_PORTS = 64 };

struct port_list {
	uint16_t ports[MOST_PORTS];
	size_t count;
};

struct listener {
	uint32_t inode;
	uint16_t port;
	bool owned; /* a visible process holds it */
	uint32_t backlog; /* connections not accepted yet: closing the listener now would reset them */
};

struct listeners {
	struct listener all[MOST_LISTENERS];
	size_t count; /* may be more than MOST_LISTENERS */
	size_t own_count;
	uint32_t backlog; /* ports of our own */
	bool attributed; /* own_ports are known by the processes that hold them */
	uint64_t inode_sum; /* if it changes, their owners are looked up again */
	uint8_t own_ports[65536 / 8];
	uint8_t any_ports[65536 / 8];
};

/*
 * Reads the listeners anew. Ours are those on `chosen` ports. Where no port is chosen, ours are those that visible processes hold. Where no such
 * process is visible (another user's), all are ours. Listeners on `ignored` ports are never ours. False where the kernel shows none.
 */
bool listeners_read(struct listeners *listeners, const struct port_list *chosen, const struct port_list *ignored);

struct port_use {
	bool own;
	bool open; /* somebody listens there */
};

struct port_use port_use_of(const struct listeners *listeners, uint16_t port);

/* Whether a UDP socket waits for datagrams: its senders cannot be seen, so that only the floor protects them. */
bool awaits_datagrams(void);
