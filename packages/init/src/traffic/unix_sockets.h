/* Listening AF_UNIX sockets and who is connected to them. Seen by sampling: there are no counters for them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MOST_UNIX_LISTENERS = 16, MOST_UNIX_CONNECTED = 16384, UNIX_PATH = 108, MOST_IGNORED_SOCKETS = 16 };

struct unix_row {
	bool listening;
	bool connected;
	uint32_t inode;
	char path[UNIX_PATH + 1];
};

/* One line of /proc/net/unix; false for the header, for sockets without a path and for anything else. */
bool parse_unix_line(const char *line, struct unix_row *row);

struct unix_sockets {
	char listeners[MOST_UNIX_LISTENERS][UNIX_PATH + 1];
	size_t listener_count;
	uint32_t connected[MOST_UNIX_CONNECTED]; /* inodes, of the server's side, sorted */
	size_t connected_count;
};

typedef void unix_arrival(void *context, const char *path);

/* --ignore-socket: paths of sockets, or of directories that they are below. */
struct ignored_sockets {
	const char *paths[MOST_IGNORED_SOCKETS];
	size_t count;
};

/* Reads them anew and reports each connection that was not in `previous` (none where NULL). */
void unix_sockets_read(struct unix_sockets *now, const struct unix_sockets *previous,
		       const struct ignored_sockets *ignored, unix_arrival *arrived, void *context);
