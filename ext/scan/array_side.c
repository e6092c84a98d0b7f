#include "array_side.h"

void npyext_array_side_init(npyext_array_side *side, npyx_host *host) {
    *side = (npyext_array_side){.listing.names.host = host};
    npyx_array_init(&side->array, host);
}

void npyext_array_side_clear(npyext_array_side *side) {
    npyx_array_clear(&side->array);
    npyext_listing_clear(&side->listing);
    side->archive = NULL;
    side->path = NULL;
    side->listed = NULL;
}

npyx_status npyext_array_side_describe(npyext_array_side *side, const npyext_listed *listed,
                                       npyx_error *error) {
    bool is_array = false;
    npyx_array_clear(&side->array);
    side->listed = listed;
    npyx_status status = npyx_archive_describe(side->archive, listed->index, &side->array, &is_array, error);
    if (status != NPYX_OK || is_array)
        return status;
    side->listed = NULL;
    return NPYX_DONE;
}

npyx_status npyext_array_side_find_only(npyext_array_side *side, npyext_listed **only, npyx_error *error) {
    *only = NULL;
    for (int64_t i = 0; i < side->listing.nentries; i++) {
        npyext_listed *listed = &side->listing.entries[i];
        if (listed->is_taken)
            continue;
        npyx_status status = npyext_array_side_describe(side, listed, error);
        if (status == NPYX_DONE && npyx_poll(side->listing.names.host, error) != NPYX_OK)
            status = NPYX_INTERRUPTED;
        if (status == NPYX_NOMEM || status == NPYX_INTERRUPTED)
            return status;
        if (status == NPYX_DONE)
            continue;
        bool is_second = *only != NULL;
        *only = is_second ? NULL : listed;
        if (is_second)
            break;
    }
    side->listed = NULL;
    return NPYX_OK;
}

npyext_place npyext_array_side_place(const npyext_array_side *side, npyx_entry *entry) {
    if (side->listed == NULL)
        return (npyext_place){.path = side->path};
    *entry = (npyx_entry){.name = side->listed->name, .name_nbytes = side->listed->name_nbytes};
    return (npyext_place){.path = side->path, .entry = entry};
}
