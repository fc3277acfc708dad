#pragma once

/* Milliseconds of a clock that never jumps. Each time in this program is one of them, unless its name says otherwise. */
double clock_now(void);
/* ms of processor time that this program has used. */
double clock_used(void);
