#include "name_list.h"

#include <inttypes.h>
#include <stdio.h>

#include "utf8.h"

enum {
    NAME_LIST_SHOWN_NBYTES = 100,
    NAME_LIST_END_NBYTES = 40, /* ` and 9223372036854775807 more` */
    ROOM_NBYTES = NPYX_NAME_LIST_NBYTES - NAME_LIST_END_NBYTES
};

void npyx_name_list_add(npyx_name_list *list, const char *name, size_t nbytes) {
    int shown_nbytes = npyx_shown_nbytes(name, nbytes, NAME_LIST_SHOWN_NBYTES);
    size_t needed_nbytes = (size_t)shown_nbytes + 4; /* quotes, a comma and a space */
    if (list->nmore > 0 || list->nbytes + needed_nbytes > ROOM_NBYTES) {
        list->nmore++;
        return;
    }
    int written = snprintf(list->text + list->nbytes, NPYX_NAME_LIST_NBYTES - list->nbytes, "%s'%.*s'",
                           list->nbytes == 0 ? "" : ", ", shown_nbytes, name);
    list->nbytes += written > 0 ? (size_t)written : 0;
}

const char *npyx_name_list_text(npyx_name_list *list) {
    if (list->nmore > 0)
        snprintf(list->text + list->nbytes, NPYX_NAME_LIST_NBYTES - list->nbytes, " and %" PRId64 " more",
                 list->nmore);
    return list->text;
}
