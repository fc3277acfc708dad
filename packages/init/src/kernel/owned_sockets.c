#include "owned_sockets.h"

#include "../base/text.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void mark(const char *link, const uint32_t *inodes, size_t count, bool *owned)
{
	static const char prefix[] = "socket:[";
	if (strncmp(link, prefix, sizeof prefix - 1) != 0)
		return;
	uint64_t inode;
	if (!read_decimal(link + sizeof prefix - 1, &inode))
		return;
	for (size_t i = 0; i < count; i++)
		if (inodes[i] == inode)
			owned[i] = true;
}

static bool look_into(const char *pid, const uint32_t *inodes, size_t count, bool *owned)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%.16s/fd", pid);
	DIR *directory = opendir(path);
	if (!directory)
		return false;
	bool any = false;
	for (struct dirent *entry; (entry = readdir(directory));) {
		char link[64];
		ssize_t length = readlinkat(dirfd(directory), entry->d_name, link, sizeof link - 1);
		if (length <= 0)
			continue;
		any = true;
		link[length] = '\0';
		mark(link, inodes, count, owned);
	}
	closedir(directory);
	return any;
}

bool find_owned_sockets(const uint32_t *inodes, size_t count, bool *owned)
{
	memset(owned, 0, count * sizeof *owned);
	DIR *directory = opendir("/proc");
	if (!directory)
		return false;
	bool any = false;
	for (struct dirent *entry; (entry = readdir(directory));)
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
		    look_into(entry->d_name, inodes, count, owned))
			any = true;
	closedir(directory);
	return any;
}
