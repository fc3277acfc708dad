#include "unix_sockets.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

bool parse_unix_line(const char *line, struct unix_row *row)
{
	unsigned flags, type, state, inode;
	int end = 0;
	if (sscanf(line, "%*[0-9a-fA-F]: %*8x %*8x %8x %4x %2x %10u %n", &flags, &type, &state, &inode, &end) != 4 ||
	    end == 0)
		return false;
	size_t length = strcspn(line + end, "\n");
	if (length == 0 || length > UNIX_PATH)
		return false;
	*row = (struct unix_row){ .listening = (flags & 0x10000) != 0, .connected = state == 3, .inode = inode };
	memcpy(row->path, line + end, length);
	row->path[length] = '\0';
	return true;
}

/* A file that is gone, or that lies in another container, can bring nobody here. */
static bool can_be_reached(const char *path)
{
	struct stat status;
	return path[0] == '/' && stat(path, &status) == 0 && S_ISSOCK(status.st_mode);
}

static void find_listeners(FILE *file, struct unix_sockets *now)
{
	char line[512];
	struct unix_row row;
	while (now->listener_count < MOST_UNIX_LISTENERS && fgets(line, sizeof line, file))
		if (parse_unix_line(line, &row) && row.listening && can_be_reached(row.path))
			memcpy(now->listeners[now->listener_count++], row.path, sizeof row.path);
}

static size_t listener_named(const struct unix_sockets *now, const char *path)
{
	size_t at = 0;
	while (at < now->listener_count && strcmp(now->listeners[at], path) != 0)
		at++;
	return at;
}

static bool was_connected(const struct unix_sockets *previous, uint32_t inode)
{
	for (size_t i = 0; i < previous->connected_count; i++)
		if (previous->connected[i] == inode)
			return true;
	return false;
}

void unix_sockets_read(struct unix_sockets *now, const struct unix_sockets *previous, unix_arrival *arrived,
		       void *context)
{
	now->listener_count = now->connected_count = 0;
	FILE *file = fopen("/proc/net/unix", "re");
	if (!file)
		return;
	find_listeners(file, now);
	rewind(file);
	char line[512];
	struct unix_row row;
	while (now->listener_count > 0 && now->connected_count < MOST_UNIX_CONNECTED && fgets(line, sizeof line, file)) {
		if (!parse_unix_line(line, &row) || row.listening || !row.connected)
			continue;
		size_t listener = listener_named(now, row.path);
		if (listener == now->listener_count)
			continue;
		now->connected[now->connected_count] = row.inode;
		now->listener_of[now->connected_count++] = (uint8_t)listener;
		if (previous && !was_connected(previous, row.inode))
			arrived(context, row.path);
	}
	fclose(file);
}
