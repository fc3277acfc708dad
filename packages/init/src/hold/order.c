#include "order.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

void order_clean(const struct order *order)
{
	if (order->ready_file)
		unlink(order->ready_file);
	if (order->done_file)
		unlink(order->done_file);
}

/* Other programs may write to this directory. So a link is never followed, and a pipe is never opened, as opening waits for a reader. */
static int create(const char *path)
{
	return open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644);
}

void order_announce(const char *path, const struct logger *logger)
{
	if (!path)
		return;
	int fd = create(path);
	if (fd < 0 && errno == EEXIST && unlink(path) == 0)
		fd = create(path);
	if (fd < 0)
		log_line(logger, LOG_WARNING, "cannot create %s: %s; containers that wait for it will wait in vain", path,
		    strerror(errno));
	else
		close(fd);
}

const char *order_missing(const struct order *order)
{
	for (size_t i = 0; i < order->wait_for.count; i++)
		if (access(order->wait_for.paths[i], F_OK) != 0)
			return order->wait_for.paths[i];
	for (size_t i = 0; i < order->wait_gone.count; i++)
		if (access(order->wait_gone.paths[i], F_OK) == 0)
			return order->wait_gone.paths[i];
	return NULL;
}

/* Watches the directory, as the file itself need not exist. Where the directory is missing, too, the hold's ticks find the file. */
static void watch_parent(int fd, const char *path)
{
	char parent[PATH_MAX];
	const char *slash = strrchr(path, '/');
	size_t length = slash ? (size_t)(slash - path) : 0;
	if (length >= sizeof parent)
		return;
	snprintf(parent, sizeof parent, "%.*s", (int)length, path);
	inotify_add_watch(fd, length > 0 ? parent : slash ? "/" : ".",
			  IN_CREATE | IN_MOVED_TO | IN_DELETE | IN_MOVED_FROM | IN_ONLYDIR);
}

int order_watch(const struct order *order)
{
	if (order->wait_for.count + order->wait_gone.count == 0)
		return -1;
	int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (fd < 0)
		return -1;
	for (size_t i = 0; i < order->wait_for.count; i++)
		watch_parent(fd, order->wait_for.paths[i]);
	for (size_t i = 0; i < order->wait_gone.count; i++)
		watch_parent(fd, order->wait_gone.paths[i]);
	return fd;
}

void order_drain(int fd)
{
	/* The rest is read next time: a directory that changes all the time must not block the init. */
	char events[4096];
	ssize_t got = read(fd, events, sizeof events);
	(void)got;
}
