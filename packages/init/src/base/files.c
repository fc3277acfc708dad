#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

ssize_t read_file(const char *path, char *buffer, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -1;
	size_t length = 0;
	while (length < size - 1) {
		ssize_t got = read(fd, buffer + length, size - 1 - length);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		length += (size_t)got;
	}
	close(fd);
	buffer[length] = '\0';
	return (ssize_t)length;
}

bool lines_open(struct lines *lines, const char *path)
{
	lines->from = lines->to = 0;
	lines->fd = open(path, O_RDONLY | O_CLOEXEC);
	return lines->fd >= 0;
}

static bool fill(struct lines *lines)
{
	memmove(lines->buffer, lines->buffer + lines->from, lines->to - lines->from);
	lines->to -= lines->from;
	lines->from = 0;
	ssize_t got;
	do
		got = read(lines->fd, lines->buffer + lines->to, sizeof lines->buffer - 1 - lines->to);
	while (got < 0 && errno == EINTR);
	if (got > 0)
		lines->to += (size_t)got;
	return got > 0;
}

const char *lines_next(struct lines *lines)
{
	for (;;) {
		char *line = lines->buffer + lines->from;
		char *end = memchr(line, '\n', lines->to - lines->from);
		if (end) {
			*end = '\0';
			lines->from = (size_t)(end + 1 - lines->buffer);
			return line;
		}
		if (!fill(lines))
			break;
	}
	/* The rest is a last line without an end, or a line longer than the buffer. */
	if (lines->from == lines->to)
		return NULL;
	lines->buffer[lines->to] = '\0';
	const char *line = lines->buffer + lines->from;
	lines->from = lines->to = 0;
	return line;
}

void lines_close(struct lines *lines)
{
	close(lines->fd);
}
