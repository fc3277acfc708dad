/* Order among the containers of a pod, by files in a directory that they share. */
#pragma once

#include "../base/log.h"

#include <stddef.h>

enum { MOST_ORDER_FILES = 8 };

struct path_list {
	const char *paths[MOST_ORDER_FILES];
	size_t count;
};

struct order {
	const char *ready_file; /* the path of the file that is made when the hold has ended */
	const char *done_file;	/* the path of the file that is made when the program has ended */
	struct path_list wait_for;
	struct path_list wait_gone;
};

/* Removes the files of an earlier run of this container: an emptyDir outlives container restarts. */
void order_clean(const struct order *order);

/* Makes an empty file, and logs where it cannot. */
void order_announce(const char *path, const struct logger *logger);

/* The first path that is still waited for; NULL where there is none. */
const char *order_missing(const struct order *order);

/* An inotify descriptor that becomes readable when one of the paths may have changed, or -1. */
int order_watch(const struct order *order);
void order_drain(int fd);
