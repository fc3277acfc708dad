/* A file line by line, however long, in constant memory. stdio would do it too, with 4 kB more of binary. */
#ifndef LAMEDUCK_LINES_H
#define LAMEDUCK_LINES_H

#include <stdbool.h>
#include <stddef.h>

struct lines {
	int fd;
	size_t from; /* unread bytes are [from, to) */
	size_t to;
	char buffer[8192];
};

bool lines_open(struct lines *lines, const char *path);

/* The next line without its end, cut where it is longer than the buffer; NULL after the last. Valid until the next call. */
const char *lines_next(struct lines *lines);

void lines_close(struct lines *lines);

#endif
