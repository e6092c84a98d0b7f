/*
 * Faults on demand: while they are armed, calls of one kind are counted, and the n-th fails.
 *
 * SQLite's allocations are reached through its configuration. Those of the C library (zlib's, minizip's,
 * those of opendir) and system calls are reached by the names that this program defines: a program's own go
 * before those of the libraries, whoever calls.
 */
#ifndef FAULTS_INJECT_H
#define FAULTS_INJECT_H

#include <stdbool.h>

typedef enum fault_kind {
    FAULT_NONE,
    FAULT_MEMORY, /* SQLite's allocator, and so the extension's */
    FAULT_LIBC,   /* malloc, calloc, realloc; not under AddressSanitizer, which has its own */
    FAULT_IO,     /* a system call returns errno_value */
    FAULT_SHORT,  /* pread gives half of what is there */
    FAULT_END     /* pread says that the file ends */
} fault_kind;

typedef struct fault {
    fault_kind kind;
    int errno_value;
    bool goes_on; /* every call from the n-th on fails, not that one alone */
} fault;

/* Before sqlite3_initialize. */
void inject_into_sqlite(void);

void inject_arm(fault what, long nth);
/* Whether any call failed since it was armed. */
bool inject_disarm(void);
/* How many calls were counted since it was armed. */
long inject_ncalls(void);
/* Whether all that failed were calls of SQLite's whose failure it takes for no error, and says so. */
bool inject_was_benign(void);

/* Bytes that SQLite and the extension hold. */
long inject_outstanding_nbytes(void);

#endif
