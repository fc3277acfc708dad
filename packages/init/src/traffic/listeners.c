#include "listeners.h"

#include "../kernel/owned_sockets.h"
#include "../kernel/proc_tcp.h"
#include "../kernel/sock_diag.h"

#include <string.h>

bool port_listed(const struct port_list *list, uint16_t port)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->ports[i] == port)
			return true;
	return false;
}

static bool has(const uint8_t *bits, uint16_t port)
{
	return bits[port / 8] >> (port % 8) & 1;
}

static void set(uint8_t *bits, uint16_t port)
{
	bits[port / 8] |= (uint8_t)(1 << (port % 8));
}

static void take(void *context, const struct tcp_row *row)
{
	struct listeners *listeners = context;
	if (row->state != STATE_LISTEN || listeners->count == MOST_LISTENERS)
		return;
	listeners->all[listeners->count++] =
		(struct listener){ .inode = row->inode, .port = row->local_port, .backlog = row->unread };
}

/* Remembers the ports found ours by the processes that hold them; asking again costs a walk through /proc. */
static void find_own_by_process(struct listeners *listeners, const struct port_list *ignored)
{
	uint64_t sum = listeners->count;
	uint32_t inodes[MOST_LISTENERS];
	bool owned[MOST_LISTENERS];
	for (size_t i = 0; i < listeners->count; i++) {
		inodes[i] = listeners->all[i].inode;
		sum = sum * 31 + inodes[i];
	}
	if (sum == listeners->inode_sum)
		return;
	listeners->inode_sum = sum;
	memset(listeners->own_ports, 0, sizeof listeners->own_ports);
	size_t found = 0;
	if (find_owned_sockets(inodes, listeners->count, owned))
		for (size_t i = 0; i < listeners->count; i++)
			found += owned[i];
	listeners->attributed = found > 0;
	for (size_t i = 0; i < listeners->count; i++)
		if ((found == 0 || owned[i]) && !port_listed(ignored, listeners->all[i].port))
			set(listeners->own_ports, listeners->all[i].port);
}

bool listeners_read(struct listeners *listeners, const struct port_list *chosen, const struct port_list *ignored)
{
	listeners->count = 0;
	if (!dump_sockets(1u << STATE_LISTEN, false, take, listeners) &&
	    !read_proc_tcp(1u << STATE_LISTEN, take, listeners))
		return false;
	if (chosen->count > 0) {
		memset(listeners->own_ports, 0, sizeof listeners->own_ports);
		for (size_t i = 0; i < chosen->count; i++)
			set(listeners->own_ports, chosen->ports[i]);
	} else {
		find_own_by_process(listeners, ignored);
	}
	memset(listeners->any_ports, 0, sizeof listeners->any_ports);
	listeners->own_count = 0;
	listeners->backlog = 0;
	for (size_t i = 0; i < listeners->count; i++) {
		struct listener *listener = &listeners->all[i];
		listener->own = has(listeners->own_ports, listener->port);
		set(listeners->any_ports, listener->port);
		listeners->own_count += listener->own;
		listeners->backlog += listener->own ? listener->backlog : 0;
	}
	return true;
}

bool listens_own(const struct listeners *listeners, uint16_t port)
{
	return has(listeners->own_ports, port);
}

bool listens_any(const struct listeners *listeners, uint16_t port)
{
	return has(listeners->any_ports, port);
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
