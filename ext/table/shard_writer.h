/*
 * What a table of samples with mode='w+' or 'a' writes: shards, one after the other, as WebDataset's
 * ShardWriter writes them with mtime=0.
 *
 *     out-000000.tar        out-000001.tar        out-000002.tar
 *     finished, rests       finished, rests       samples are added
 *
 * A full shard rests under a name beside its path, without a descriptor (target.h). The end of a transaction
 * publishes all of them, in order. Each transaction continues with the last shard, unless that is full, in a
 * copy.
 */
#ifndef NPYEXT_SHARD_WRITER_H
#define NPYEXT_SHARD_WRITER_H

#include "wds_table.h"

typedef struct npyext_shard_writer npyext_shard_writer;

/* Makes the writer that the declaration's arguments and columns describe. The declaration and table must
 * outlive it. NPYX_INVALID or NPYX_NOMEM. */
npyx_status npyext_shard_writer_new(npyext_connection *connection, const char *table,
                                    npyext_declaration *declaration, npyext_transaction **writer,
                                    npyx_error *error);

/* Sets the error for a statement that reads the table. */
void npyext_shard_writer_fail_read(const npyext_transaction *writer, npyx_error *error);

#endif
