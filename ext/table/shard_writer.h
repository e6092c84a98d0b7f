/*
 * What a table of samples with mode='w+' or 'a' writes: shards, one after the other, as WebDataset's
 * ShardWriter writes them with mtime=0.
 *
 *     out-000000.tar        out-000001.tar        out-000002.tar
 *     finished, rests       finished, rests       samples are added
 *
 * A shard that is full rests under a name beside its path and holds no descriptor (target.h). The end of a
 * transaction publishes all of them in order. Each transaction goes on with the last shard, where that is not
 * full, by a copy.
 */
#ifndef NPYEXT_SHARD_WRITER_H
#define NPYEXT_SHARD_WRITER_H

#include "wds_table.h"

typedef struct npyext_shard_writer npyext_shard_writer;

/* Reads the arguments and makes the columns of the declaration, which outlives the writer. NULL with *error
 * set on failure. */
npyx_status npyext_shard_writer_new(npyext_connection *connection, const char *table,
                                    npyext_declaration *declaration, npyext_transaction **writer,
                                    npyx_error *error);

/* The error of a statement that reads the table. */
void npyext_shard_writer_fail_read(const npyext_transaction *writer, npyx_error *error);

#endif
