#include "listeners.h"

#include "../kernel/owned_sockets.h"
#include "../kernel/proc_tcp.h"
#include "../kernel/sock_diag.h"

#include <stdlib.h>
#include <string.h>

static bool has(const uint8_t *bits, uint16_t port)
{
	return bits[port / 8] >> (port % 8) & 1;
}

static void clear(uint8_t *bits, uint16_t port)
{
	bits[port / 8] &= (uint8_t)~(1 << (port % 8));
}

static void set(uint8_t *bits, uint16_t port)
{
	bits[port / 8] |= (uint8_t)(1 << (port % 8));
}

struct reading {
	struct listeners *listeners;
	uint64_t inode_sum;
	size_t beyond; /* listeners of our own, for which there is no room */
	uint32_t beyond_backlog;
	uint8_t ports[65536 / 8];
};

static void take(void *context, const struct tcp_row *row)
{
	struct reading *reading = context;
	struct listeners *listeners = reading->listeners;
	if (row->state != STATE_LISTEN)
		return;
	reading->inode_sum = reading->inode_sum * 31 + row->inode;
	set(reading->ports, row->local_port);
	if (listeners->count++ < MOST_LISTENERS) {
		listeners->all[listeners->count - 1] =
			(struct listener){ .inode = row->inode, .port = row->local_port, .backlog = row->unread };
	} else if (has(listeners->own_ports, row->local_port)) {
		reading->beyond++;
		reading->beyond_backlog += row->unread;
	}
}

static size_t kept(const struct listeners *listeners)
{
	return listeners->count < MOST_LISTENERS ? listeners->count : MOST_LISTENERS;
}

static int by_inode(const void *one, const void *other)
{
	uint32_t a = ((const struct listener *)one)->inode, b = ((const struct listener *)other)->inode;
	return (a > b) - (a < b);
}

struct search {
	struct listeners *listeners;
	size_t found;
};

/* Ends when all are found: a server with 10,000 connections has as many descriptors, and its listener is among the first. */
static bool mark_owned(void *context, uint32_t inode)
{
	struct search *search = context;
	const struct listener wanted = { .inode = inode };
	struct listener *listener =
		bsearch(&wanted, search->listeners->all, kept(search->listeners), sizeof wanted, by_inode);
	if (listener && !listener->owned) {
		listener->owned = true;
		search->found++;
	}
	return search->found < search->listeners->count;
}

/* Caches which ports are ours, by the processes that hold them: to ask again costs a walk through /proc. */
static void find_own_by_process(struct listeners *listeners, const struct reading *reading,
				const struct port_list *ignored)
{
	if (reading->inode_sum == listeners->inode_sum)
		return;
	listeners->inode_sum = reading->inode_sum;
	struct search search = { listeners, 0 };
	qsort(listeners->all, kept(listeners), sizeof *listeners->all, by_inode);
	visit_owned_sockets(mark_owned, &search);
	listeners->attributed = search.found > 0;
	memset(listeners->own_ports, 0, sizeof listeners->own_ports);
	for (size_t i = 0; i < kept(listeners); i++)
		if (listeners->all[i].owned)
			set(listeners->own_ports, listeners->all[i].port);
	if (!listeners->attributed)
		memcpy(listeners->own_ports, reading->ports, sizeof reading->ports);
	for (size_t i = 0; i < ignored->count; i++)
		clear(listeners->own_ports, ignored->ports[i]);
}

static bool read_all(struct reading *reading)
{
	reading->listeners->count = 0;
	if (diag_dump(1u << STATE_LISTEN, false, take, reading))
		return true;
	*reading = (struct reading){ .listeners = reading->listeners };
	reading->listeners->count = 0;
	return read_proc_tcp(1u << STATE_LISTEN, take, reading);
}

bool listeners_read(struct listeners *listeners, const struct port_list *chosen, const struct port_list *ignored)
{
	struct reading reading = { .listeners = listeners };
	for (size_t i = 0; i < chosen->count; i++)
		set(listeners->own_ports, chosen->ports[i]);
	/* If it cannot be read again, the earlier value is kept. */
	if (!read_all(&reading))
		return false;
	if (chosen->count == 0)
		find_own_by_process(listeners, &reading, ignored);
	memcpy(listeners->any_ports, reading.ports, sizeof reading.ports);
	listeners->own_count = reading.beyond;
	listeners->backlog = reading.beyond_backlog;
	for (size_t i = 0; i < kept(listeners); i++) {
		bool own = has(listeners->own_ports, listeners->all[i].port);
		listeners->own_count += own;
		listeners->backlog += own ? listeners->all[i].backlog : 0;
	}
	return true;
}

struct port_use port_use_of(const struct listeners *listeners, uint16_t port)
{
	return (struct port_use){ .own = has(listeners->own_ports, port), .open = has(listeners->any_ports, port) };
}

static void note_datagrams(void *context, const struct tcp_row *row)
{
	(void)row;
	*(bool *)context = true;
}

bool awaits_datagrams(void)
{
	/* An unconnected UDP socket, one that serves, is in state 7. */
	bool found = false;
	read_proc_sockets("/proc/net/udp", "/proc/net/udp6", 1u << STATE_CLOSE, note_datagrams, &found);
	return found;
}
