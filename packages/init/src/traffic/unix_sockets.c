#include "unix_sockets.h"

#include "../base/files.h"
#include "../base/text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char table[] = "/proc/net/unix";

bool parse_unix_line(const char *line, struct unix_row *row)
{
	uint32_t ignored, flags, state;
	uint64_t inode;
	/* Num RefCount Protocol Flags Type St Inode Path; Num is an address of 8 or 16 digits and a colon. */
	const char *at = strchr(line, ':');
	if (!at || !(at = read_hex(skip_spaces(at + 1), 8, &ignored)) || !(at = read_hex(skip_spaces(at), 8, &ignored)) ||
	    !(at = read_hex(skip_spaces(at), 8, &flags)) || !(at = read_hex(skip_spaces(at), 4, &ignored)) ||
	    !(at = read_hex(skip_spaces(at), 2, &state)) || !(at = read_decimal(skip_spaces(at), &inode)) ||
	    !(at = expect(at, ' ')))
		return false;
	size_t length = strlen(at);
	if (length == 0 || length > UNIX_PATH)
		return false;
	*row = (struct unix_row){ .listening = (flags & 0x10000) != 0, .connected = state == 3, .inode = (uint32_t)inode };
	memcpy(row->path, at, length);
	row->path[length] = '\0';
	return true;
}

static dev_t device_of(const char *path)
{
	struct stat status;
	return stat(path, &status) == 0 ? status.st_dev : 0;
}

/*
 * A file that is gone, or that lies in another container, can bring nobody here. Nor can one on the container's own root, but for its own
 * processes: supervisors and workers behind a server, whose requests come over the network first. Others reach only what lies on a volume.
 */
static bool can_be_reached(char *path)
{
	struct stat status;
	if (path[0] != '/' || stat(path, &status) != 0 || !S_ISSOCK(status.st_mode))
		return false;
	/* Of its directory, since files of an overlay may have the device of a layer. */
	char *name = strrchr(path, '/') + 1;
	char first = *name;
	*name = '\0';
	dev_t device = device_of(path);
	*name = first;
	return device != device_of("/");
}

static bool is_ignored(const struct ignored_sockets *ignored, const char *path)
{
	for (size_t i = 0; i < ignored->count; i++) {
		size_t length = strlen(ignored->paths[i]);
		while (length > 0 && ignored->paths[i][length - 1] == '/')
			length--;
		if (strncmp(ignored->paths[i], path, length) == 0 && (path[length] == '/' || path[length] == '\0'))
			return true;
	}
	return false;
}

static void find_listeners(struct unix_sockets *now, const struct ignored_sockets *ignored)
{
	struct lines lines;
	struct unix_row row;
	if (!lines_open(&lines, table))
		return;
	for (const char *line; now->listener_count < MOST_UNIX_LISTENERS && (line = lines_next(&lines));)
		if (parse_unix_line(line, &row) && row.listening && !is_ignored(ignored, row.path) &&
		    can_be_reached(row.path))
			memcpy(now->listeners[now->listener_count++], row.path, sizeof row.path);
	lines_close(&lines);
}

static bool has_listener(const struct unix_sockets *now, const char *path)
{
	for (size_t i = 0; i < now->listener_count; i++)
		if (strcmp(now->listeners[i], path) == 0)
			return true;
	return false;
}

static int compare_inodes(const void *one, const void *other)
{
	uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)other;
	return (a > b) - (a < b);
}

static bool was_connected(const struct unix_sockets *previous, uint32_t inode)
{
	return bsearch(&inode, previous->connected, previous->connected_count, sizeof inode, compare_inodes) != NULL;
}

void unix_sockets_read(struct unix_sockets *now, const struct unix_sockets *previous,
		       const struct ignored_sockets *ignored, unix_arrival *arrived, void *context)
{
	now->listener_count = now->connected_count = 0;
	find_listeners(now, ignored);
	struct lines lines;
	struct unix_row row;
	if (now->listener_count == 0 || !lines_open(&lines, table))
		return;
	for (const char *line; now->connected_count < MOST_UNIX_CONNECTED && (line = lines_next(&lines));) {
		if (!parse_unix_line(line, &row) || row.listening || !row.connected)
			continue;
		if (!has_listener(now, row.path))
			continue;
		now->connected[now->connected_count++] = row.inode;
		if (previous && !was_connected(previous, row.inode))
			arrived(context, row.path);
	}
	lines_close(&lines);
	qsort(now->connected, now->connected_count, sizeof *now->connected, compare_inodes);
}
