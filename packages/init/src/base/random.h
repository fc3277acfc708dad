/* Random numbers that nobody outside of the process can guess. */
#pragma once

#include <stdint.h>

/* Never waits: before the kernel has enough entropy, the number is made of the process id and the clock. */
uint32_t random_number(void);
