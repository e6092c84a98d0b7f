#include <string.h>

#include "connection.h"

static npyext_published **published_find(npyext_published **list, const char *table) {
    while (*list != NULL && sqlite3_stricmp((*list)->table, table) != 0)
        list = &(*list)->next;
    return list;
}

npyext_published *npyext_published_of(npyext_connection *connection, const char *table) {
    npyext_published **link = published_find(&connection->published, table);
    if (*link == NULL) {
        size_t nbytes = strlen(table) + 1;
        *link = npyx_alloc_zeroed(&connection->host, sizeof **link + nbytes);
        if (*link != NULL)
            memcpy((*link)->table, table, nbytes);
    }
    return *link;
}

void npyext_published_forget(npyext_connection *connection, const char *table) {
    npyext_published **link = published_find(&connection->published, table), *forgotten = *link;
    if (forgotten == NULL)
        return;
    *link = forgotten->next;
    npyx_free(&connection->host, forgotten);
}

bool npyext_published_rename(npyext_connection *connection, const char *table, const char *new_table) {
    const npyext_published *before = *published_find(&connection->published, table);
    if (before == NULL || sqlite3_stricmp(table, new_table) == 0)
        return true;
    npyext_published *renamed = npyext_published_of(connection, new_table);
    if (renamed == NULL)
        return false;
    renamed->is_published = before->is_published;
    renamed->info = before->info;
    renamed->owner = before->owner;
    npyext_published_forget(connection, table);
    return true;
}

void npyext_published_clear(npyext_connection *connection) {
    while (connection->published != NULL)
        npyext_published_forget(connection, connection->published->table);
}
