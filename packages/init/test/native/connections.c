/*
 * Each word of the input is the number of bytes that a connection has received, "-" if unknown. All connections have the same ports. For each word this
 * writes 1 for a connection that is known and 0 for a new one, and how many connections are kept.
 */
#include "../../src/traffic/connections.h"

#include <stdio.h>
#include <stdlib.h>

int main(void)
{
	struct connections connections = { 0 };
	char bytes[32];
	while (scanf("%31s", bytes) == 1) {
		struct tcp_row row = { .peer_port = 40000, .local_port = 80, .has_info = bytes[0] != '-' };
		row.bytes_received = row.has_info ? strtoull(bytes, NULL, 10) : 0;
		struct connection *found = connections_find(&connections, &row);
		int known = found != NULL;
		if (!found)
			found = connections_add(&connections, &row);
		if (found && row.has_info)
			found->bytes = row.bytes_received;
		printf("%d %zu\n", known, connections.count);
	}
	connections_free(&connections);
	return 0;
}
