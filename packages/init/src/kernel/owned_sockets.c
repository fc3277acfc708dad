#include "owned_sockets.h"

#include "../base/text.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* How many were not marked before. */
static size_t mark(const char *link, const uint32_t *inodes, size_t count, bool *owned)
{
	static const char prefix[] = "socket:[";
	if (strncmp(link, prefix, sizeof prefix - 1) != 0)
		return 0;
	uint64_t inode;
	if (!read_decimal(link + sizeof prefix - 1, &inode))
		return 0;
	size_t marked = 0;
	for (size_t i = 0; i < count; i++) {
		marked += inodes[i] == inode && !owned[i];
		owned[i] = owned[i] || inodes[i] == inode;
	}
	return marked;
}

/* Stops when all are found: a server with 10,000 connections has as many descriptors, and its listener is among the first. */
static bool look_into(const char *pid, const uint32_t *inodes, size_t count, bool *owned, size_t *missing)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%.16s/fd", pid);
	DIR *directory = opendir(path);
	if (!directory)
		return false;
	bool any = false;
	for (struct dirent *entry; *missing > 0 && (entry = readdir(directory));) {
		char link[64];
		ssize_t length = readlinkat(dirfd(directory), entry->d_name, link, sizeof link - 1);
		if (length <= 0)
			continue;
		any = true;
		link[length] = '\0';
		*missing -= mark(link, inodes, count, owned);
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
	size_t missing = count;
	for (struct dirent *entry; missing > 0 && (entry = readdir(directory));)
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
		    look_into(entry->d_name, inodes, count, owned, &missing))
			any = true;
	closedir(directory);
	return any;
}
