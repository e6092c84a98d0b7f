/*
 * An array that a table function takes beside its source: the vectors that npy_nearest looks for, the labels
 * of npy_stats. It is a .npy BLOB or a handle or, where paths are taken, a file of one array.
 */
#ifndef NPYEXT_OPERAND_H
#define NPYEXT_OPERAND_H

#include "opener.h"

typedef struct npyext_operand {
    const npyx_array *array; /* described, of values and not of objects; NULL: nothing is open */
    npyx_source *payload;    /* that its offsets are of */
    /* private */
    npyext_connection *connection;
    npyx_array described;
    npyext_files files;
    npyext_opened opened;
} npyext_operand;

/* Opens what an argument, which is given and outlives the operand, stands for. what is the argument's name;
 * messages begin with it. takes_path: a TEXT is a path, and no pattern or list; otherwise it is refused, with
 * the advice. To be closed whatever the status. */
npyx_status npyext_operand_open(npyext_operand *operand, npyext_connection *connection,
                                const npyext_argument *argument, const char *what, bool takes_path,
                                npyx_error *error);

/* An operand of zeros is taken too. */
void npyext_operand_close(npyext_operand *operand);

#endif
