#include "read_file.h"

#include <errno.h>
#include <fcntl.h>
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
