#include "owned_sockets.h"

#include "../base/text.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool take_link(const char *link, inode_visitor *visit, void *context)
{
	static const char prefix[] = "socket:[";
	uint64_t inode;
	if (strncmp(link, prefix, sizeof prefix - 1) != 0 || !read_decimal(link + sizeof prefix - 1, &inode))
		return true;
	return visit(context, (uint32_t)inode);
}

static bool look_into(const char *pid, inode_visitor *visit, void *context)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%.16s/fd", pid);
	DIR *directory = opendir(path);
	if (!directory)
		return true;
	bool goes_on = true;
	for (struct dirent *entry; goes_on && (entry = readdir(directory));) {
		char link[64];
		ssize_t length = readlinkat(dirfd(directory), entry->d_name, link, sizeof link - 1);
		if (length <= 0)
			continue;
		link[length] = '\0';
		goes_on = take_link(link, visit, context);
	}
	closedir(directory);
	return goes_on;
}

void visit_owned_sockets(inode_visitor *visit, void *context)
{
	DIR *directory = opendir("/proc");
	if (!directory)
		return;
	bool goes_on = true;
	for (struct dirent *entry; goes_on && (entry = readdir(directory));)
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
			goes_on = look_into(entry->d_name, visit, context);
	closedir(directory);
}
