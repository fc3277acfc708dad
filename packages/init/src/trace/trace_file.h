/* A file for a recording. It is made without following links, without waiting, and without touching other files. */
#ifndef LAMEDUCK_TRACE_FILE_H
#define LAMEDUCK_TRACE_FILE_H

#include <stddef.h>

enum { MOST_PATH = 1024 };

/*
 * In a directory one for each process. A recording that is there already is kept as "PATH.1". Returns the descriptor, or -1 with what is wrong in
 * `problem`.
 */
int trace_file_make(const char *place, char *problem, size_t size);

#endif
