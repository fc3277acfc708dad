#include "proc_tcp.h"

#include "../base/files.h"
#include "../base/text.h"

#include <sys/socket.h>

/* The kernel prints each 32-bit word of an address as a number in the order of this machine. */
static const char *endpoint(const char *at, int family, struct address *address, uint16_t *port)
{
	uint32_t words[4];
	unsigned count = family == AF_INET ? 1 : 4;
	for (unsigned i = 0; i < count && at; i++)
		at = read_hex(at, 8, &words[i]);
	uint32_t number = 0;
	if (!(at = expect(at, ':')) || !(at = read_hex(at, 4, &number)))
		return NULL;
	*address = address_from(family, words);
	*port = (uint16_t)number;
	return at;
}

bool parse_proc_tcp_line(const char *line, int family, struct tcp_row *row)
{
	uint32_t resent, state, unsent, unread, timer, when;
	uint64_t number, inode;
	*row = (struct tcp_row){ 0 };
	const char *at = read_decimal(skip_spaces(line), &number);
	/* Our own address is not kept: the peer's takes its place. */
	if (!(at = expect(at, ':')) || !(at = endpoint(skip_spaces(at), family, &row->peer, &row->local_port)) ||
	    !(at = endpoint(skip_spaces(at), family, &row->peer, &row->peer_port)) ||
	    !(at = read_hex(skip_spaces(at), 2, &state)) || !(at = read_hex(skip_spaces(at), 8, &unsent)) ||
	    !(at = expect(at, ':')) || !(at = read_hex(at, 8, &unread)) || !(at = read_hex(skip_spaces(at), 2, &timer)) ||
	    !(at = expect(at, ':')) || !(at = read_hex(at, 0, &when)) || !(at = read_hex(skip_spaces(at), 8, &resent)) ||
	    !(at = read_decimal(skip_spaces(at), &number)) || !(at = read_decimal(skip_spaces(at), &number)) ||
	    !(at = read_decimal(skip_spaces(at), &inode)))
		return false;
	row->inode = (uint32_t)inode;
	row->resent = resent < UINT8_MAX ? (uint8_t)resent : UINT8_MAX;
	row->state = (uint8_t)state;
	row->unread = unread;
	row->unsent = unsent;
	row->expires = when < UINT32_MAX / 10 ? when * 10 : UINT32_MAX; /* clock ticks are 10 ms to user space */
	return true;
}

static bool read_one(const char *path, int family, uint32_t states, tcp_row_visitor *visit, void *context)
{
	struct lines lines;
	if (!lines_open(&lines, path))
		return false;
	struct tcp_row row;
	for (const char *line; (line = lines_next(&lines));)
		if (parse_proc_tcp_line(line, family, &row) && row.state < 32 && states >> row.state & 1)
			visit(context, &row);
	lines_close(&lines);
	return true;
}

bool read_proc_sockets(const char *v4, const char *v6, uint32_t states, tcp_row_visitor *visit, void *context)
{
	bool read_v4 = read_one(v4, AF_INET, states, visit, context);
	bool read_v6 = read_one(v6, AF_INET6, states, visit, context);
	return read_v4 || read_v6;
}

bool read_proc_tcp(uint32_t states, tcp_row_visitor *visit, void *context)
{
	return read_proc_sockets("/proc/net/tcp", "/proc/net/tcp6", states, visit, context);
}
