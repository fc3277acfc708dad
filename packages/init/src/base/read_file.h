#ifndef LAMEDUCK_READ_FILE_H
#define LAMEDUCK_READ_FILE_H

#include <stddef.h>
#include <sys/types.h>

/* Up to size - 1 bytes and a terminating zero; -1 where the file cannot be read. */
ssize_t read_file(const char *path, char *buffer, size_t size);

#endif
