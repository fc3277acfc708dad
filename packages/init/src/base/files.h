/* Small files as a whole, and files of any length line by line. stdio would do it too, with 4 kB more of binary. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Up to size - 1 bytes and a terminating zero; -1 where the file cannot be read. */
ssize_t read_file(const char *path, char *buffer, size_t size);

struct lines {
	int fd;
	size_t from; /* unread bytes are [from, to) */
	size_t to;
	char buffer[8192];
};

bool lines_open(struct lines *lines, const char *path);

/* The next line without its end; a line that is too long is cut. NULL after the last. Valid until the next call. */
const char *lines_next(struct lines *lines);

void lines_close(struct lines *lines);
