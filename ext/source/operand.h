/*
 * An array that a table function takes in addition to its source: the vectors that npy_nearest looks for, the
 * labels of npy_stats. It is a .npy BLOB, a handle or, where paths are accepted, a file of one array.
 */
#ifndef NPYEXT_OPERAND_H
#define NPYEXT_OPERAND_H

#include "opener.h"

typedef struct npyext_operand {
    const npyx_array *array; /* described; its items are values, not objects. NULL: nothing is open */
    npyx_source *payload;    /* the source that the array's offsets refer to */
    /* private */
    npyext_connection *connection;
    npyx_array described;
    npyext_files files;
    npyext_opened opened;
} npyext_operand;

/* Opens the array that an argument stands for, which must be given and must outlive the operand. Messages
 * begin with what, the argument's name. If takes_path, a TEXT is a path, never a pattern or a list; otherwise
 * it is refused, with advice. Close the operand whatever the status. */
npyx_status npyext_operand_open(npyext_operand *operand, npyext_connection *connection,
                                const npyext_argument *argument, const char *what, bool takes_path,
                                npyx_error *error);

/* Accepts a zero-initialised operand. */
void npyext_operand_close(npyext_operand *operand);

#endif
