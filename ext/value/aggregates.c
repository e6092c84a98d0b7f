#include "aggregates.h"

#include "scan/plan.h"

/* Makes an error the result. If the BLOB is too long for SQLite, the message names another way. */
static void group_fail(npyext_group *group, npyx_error *error) {
    const npyext_aggregate *aggregate = group->aggregate;
    bool is_toobig = error->status == NPYX_TOOBIG;
    if (is_toobig && aggregate->format == NPYX_FORMAT_NPY)
        npyx_error_set(error, NPYX_TOOBIG, -1,
                       "the array passes SQLite's limit for a BLOB; a table writes it to a file instead, as "
                       "in CREATE VIRTUAL TABLE temp.out USING npy('out.npy', mode='w+', dtype='float32')");
    else if (is_toobig)
        npyx_error_set(error, NPYX_TOOBIG, -1,
                       "the archive is longer than SQLite's limit of %d bytes; of any size it goes to a file "
                       "through a table, as in CREATE VIRTUAL TABLE temp.out USING npy('out.%s', mode='w+')",
                       sqlite3_limit(group->connection->db, SQLITE_LIMIT_LENGTH, -1),
                       npyx_format_name(aggregate->format));
    if (is_toobig || error->status == NPYX_INVALID)
        group->place = (npyext_place){.path = aggregate->caller.name};
    npyext_result_error(group->context, group->place, error);
    group->has_failed = true;
}

/* Takes a call of SQLite's, and begins the group if it is the first one. */
static npyx_status group_take(npyext_group *group, sqlite3_context *context, int argc, sqlite3_value **argv,
                              npyx_error *error) {
    group->context = context;
    group->argc = argc;
    group->argv = argv;
    if (group->has_begun)
        return NPYX_OK;
    const npyext_registration *registered = sqlite3_user_data(context);
    group->has_begun = true;
    group->aggregate = registered->definition;
    group->connection = registered->connection;
    group->place = (npyext_place){.path = group->aggregate->caller.name};
    return group->aggregate->begin(group, error);
}

void npyext_aggregate_step(sqlite3_context *context, int argc, sqlite3_value **argv) {
    const npyext_aggregate *aggregate = ((npyext_registration *)sqlite3_user_data(context))->definition;
    npyext_group *group = sqlite3_aggregate_context(context, (int)aggregate->state_nbytes);
    npyx_error error;
    if (group == NULL)
        sqlite3_result_error_nomem(context);
    if (group == NULL || group->has_failed)
        return;
    npyx_status status = group_take(group, context, argc, argv, &error);
    if (status == NPYX_OK) {
        status = aggregate->append(group, &error);
        if (status != NPYX_OK && aggregate->row_name != NULL)
            npyx_error_place(&error, status, "%s %" PRId64, aggregate->row_name, group->nrows);
    }
    if (status != NPYX_OK)
        group_fail(group, &error);
    if (aggregate->end_row != NULL)
        aggregate->end_row(group);
    group->nrows++;
}

void npyext_aggregate_final(sqlite3_context *context) {
    const npyext_aggregate *aggregate = ((npyext_registration *)sqlite3_user_data(context))->definition;
    npyext_group *group =
        sqlite3_aggregate_context(context, aggregate->takes_none ? (int)aggregate->state_nbytes : 0);
    npyx_error error;
    npyx_status status = NPYX_OK;
    if (group == NULL && aggregate->takes_none)
        sqlite3_result_error_nomem(context);
    if (group == NULL || (!group->has_begun && !aggregate->takes_none))
        return;
    if (!group->has_failed) {
        status = group_take(group, context, 0, NULL, &error);
        if (status == NPYX_OK)
            status = aggregate->finish(group, &error);
    }
    if (status != NPYX_OK)
        group_fail(group, &error);
    aggregate->clear(group);
}
