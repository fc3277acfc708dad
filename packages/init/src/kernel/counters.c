#include "counters.h"

#include "../base/files.h"
#include "../base/text.h"

#include <string.h>

static const char *next_line(const char *line)
{
	const char *end = strchr(line, '\n');
	return end ? end + 1 : line + strlen(line);
}

static bool is_group(const char *line, const char *group)
{
	return strncmp(line, group, strlen(group)) == 0;
}

/* The column of `name` in a header line, 1 for the first after the group; 0 where it is missing. */
static unsigned column_of(const char *line, const char *name)
{
	size_t length = strlen(name);
	unsigned column = 0;
	for (const char *at = line; *at && *at != '\n'; at++) {
		if (*at != ' ')
			continue;
		column++;
		if (strncmp(at + 1, name, length) == 0 && (at[1 + length] == ' ' || at[1 + length] == '\n'))
			return column;
	}
	return 0;
}

static bool value_in(const char *line, unsigned column, uint64_t *value)
{
	const char *at = line;
	for (; *at && *at != '\n'; at++)
		if (*at == ' ' && --column == 0)
			break;
	return *at == ' ' && read_decimal(at + 1, value);
}

bool parse_counter(const char *text, const char *group, const char *name, uint64_t *value)
{
	for (const char *line = text; *line; line = next_line(line)) {
		if (!is_group(line, group))
			continue;
		unsigned column = column_of(line, name);
		const char *values = next_line(line);
		return column > 0 && is_group(values, group) && value_in(values, column, value);
	}
	return false;
}

bool read_passive_opens(uint64_t *value)
{
	char text[8192];
	return read_file("/proc/net/snmp", text, sizeof text) > 0 && parse_counter(text, "Tcp:", "PassiveOpens", value);
}

static bool read_extended(const char *name, uint64_t *value)
{
	char text[16384];
	return read_file("/proc/net/netstat", text, sizeof text) > 0 && parse_counter(text, "TcpExt:", name, value);
}

bool read_listen_overflows(uint64_t *value)
{
	return read_extended("ListenOverflows", value);
}

bool read_data_sent(uint64_t *value)
{
	return read_extended("TCPOrigDataSent", value);
}
