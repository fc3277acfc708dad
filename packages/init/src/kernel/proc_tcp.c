#include "proc_tcp.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static const char *skip_spaces(const char *at)
{
	while (*at == ' ')
		at++;
	return at;
}

/* Exactly `digits` hexadecimal digits, or all there are when 0; NULL where there are not so many. */
static const char *hex(const char *at, unsigned digits, uint32_t *value)
{
	unsigned read = 0;
	*value = 0;
	for (int digit; (digits == 0 || read < digits) && read < 8 && (digit = hex_digit(*at)) >= 0; at++, read++)
		*value = *value << 4 | (uint32_t)digit;
	return read == 0 || (digits && read != digits) ? NULL : at;
}

static const char *decimal(const char *at, uint32_t *value)
{
	if (*at < '0' || *at > '9')
		return NULL;
	for (*value = 0; *at >= '0' && *at <= '9'; at++)
		*value = *value * 10 + (uint32_t)(*at - '0');
	return at;
}

static const char *expect(const char *at, char c)
{
	return at && *at == c ? at + 1 : NULL;
}

/* The kernel prints each 32-bit word of an address as a number in the order of this machine. */
static const char *endpoint(const char *at, int family, struct address *address, uint16_t *port)
{
	uint32_t words[4];
	unsigned count = family == AF_INET ? 1 : 4;
	for (unsigned i = 0; i < count && at; i++)
		at = hex(at, 8, &words[i]);
	uint32_t number = 0;
	if (!(at = expect(at, ':')) || !(at = hex(at, 4, &number)))
		return NULL;
	*address = address_from(family, words);
	*port = (uint16_t)number;
	return at;
}

bool parse_proc_tcp_line(const char *line, int family, struct tcp_row *row)
{
	uint32_t ignored, state, unsent, unread, timer, when;
	*row = (struct tcp_row){ 0 };
	const char *at = decimal(skip_spaces(line), &ignored);
	if (!(at = expect(at, ':')) || !(at = endpoint(skip_spaces(at), family, &row->local, &row->local_port)) ||
	    !(at = endpoint(skip_spaces(at), family, &row->peer, &row->peer_port)) ||
	    !(at = hex(skip_spaces(at), 2, &state)) || !(at = hex(skip_spaces(at), 8, &unsent)) ||
	    !(at = expect(at, ':')) || !(at = hex(at, 8, &unread)) || !(at = hex(skip_spaces(at), 2, &timer)) ||
	    !(at = expect(at, ':')) || !(at = hex(at, 0, &when)) || !(at = hex(skip_spaces(at), 8, &ignored)) ||
	    !(at = decimal(skip_spaces(at), &ignored)) || !(at = decimal(skip_spaces(at), &ignored)) ||
	    !(at = decimal(skip_spaces(at), &row->inode)))
		return false;
	row->state = (uint8_t)state;
	row->unread = unread;
	row->unsent = unsent;
	row->expires = when < UINT32_MAX / 10 ? when * 10 : UINT32_MAX; /* clock ticks are 10 ms to user space */
	return true;
}

static bool read_one(const char *path, int family, uint32_t states, tcp_row_visitor *visit, void *context)
{
	FILE *file = fopen(path, "re");
	if (!file)
		return false;
	char line[512];
	struct tcp_row row;
	while (fgets(line, sizeof line, file))
		if (parse_proc_tcp_line(line, family, &row) && row.state < 32 && states >> row.state & 1)
			visit(context, &row);
	fclose(file);
	return true;
}

bool read_proc_tcp(uint32_t states, tcp_row_visitor *visit, void *context)
{
	bool v4 = read_one("/proc/net/tcp", AF_INET, states, visit, context);
	bool v6 = read_one("/proc/net/tcp6", AF_INET6, states, visit, context);
	return v4 || v6;
}
