#include "array_side.h"

void npyext_array_side_init(npyext_array_side *side, npyx_host *host) {
    *side = (npyext_array_side){.names.bytes.host = host};
    npyx_array_init(&side->array, host);
}

void npyext_array_side_clear(npyext_array_side *side) {
    npyx_host *host = side->names.bytes.host;
    npyx_array_clear(&side->array);
    npyx_name_set_clear(&side->names);
    npyx_free(host, side->entries);
    npyext_array_side_init(side, host);
}

static npyx_status side_append(npyext_array_side *side, int64_t index, const npyx_entry *entry,
                               npyx_error *error) {
    int64_t number = side->nentries;
    npyext_listed *entries =
        npyx_grow(side->names.bytes.host, side->entries, number, &side->capacity_nentries, sizeof *entries);
    NPYX_TRY(npyx_check_memory(entries, error));
    side->entries = entries;
    NPYX_TRY(npyx_name_set_add(&side->names, entry->name, entry->name_nbytes, error));
    int64_t before = npyx_name_set_before(&side->names, number);
    entries[side->nentries++] =
        (npyext_listed){.index = index,
                        .name_off = side->names.bytes.nbytes - entry->name_nbytes,
                        .name_nbytes = entry->name_nbytes,
                        .first_same = before < 0 ? number : entries[before].first_same,
                        .next_same = -1,
                        .current = number};
    if (before >= 0) {
        entries[before].next_same = number;
        entries[before].is_taken = side->archive->format == NPYX_FORMAT_NPZ;
    }
    return NPYX_OK;
}

npyx_status npyext_array_side_list(npyext_array_side *side, int64_t only_index, npyx_error *error) {
    npyx_status status = NPYX_OK;
    for (int64_t index = only_index < 0 ? 0 : only_index; status == NPYX_OK; index++) {
        npyx_entry entry;
        status = npyx_archive_entry(side->archive, index, &entry, error);
        if (status == NPYX_OK)
            status = side_append(side, index, &entry, error);
        if (only_index >= 0)
            break;
        if (status == NPYX_OK && (index & 255) == 255)
            status = npyx_poll(side->names.bytes.host, error);
    }
    return status == NPYX_DONE ? NPYX_OK : status;
}

npyext_listed *npyext_array_side_find(npyext_array_side *side, const char *name, size_t nbytes) {
    int64_t nsame, last = npyx_name_set_find(&side->names, name, nbytes, &nsame);
    if (last < 0)
        return NULL;
    npyext_listed *first = &side->entries[side->entries[last].first_same];
    npyext_listed *entry = &side->entries[first->current];
    while (entry->is_taken && entry->next_same >= 0) {
        first->current = entry->next_same; /* a file may hold a million of one name */
        entry = &side->entries[first->current];
    }
    return entry->is_taken ? NULL : entry;
}

npyx_status npyext_array_side_describe(npyext_array_side *side, const npyext_listed *listed,
                                       npyx_error *error) {
    bool is_array = false;
    npyx_array_clear(&side->array);
    side->listed = listed;
    side->entry = (npyx_entry){.name = npyext_listed_name(side, listed), .name_nbytes = listed->name_nbytes};
    NPYX_TRY(npyx_archive_describe(side->archive, listed->index, &side->array, &is_array, error));
    if (is_array)
        return NPYX_OK;
    side->listed = NULL;
    return NPYX_DONE;
}

npyx_status npyext_array_side_find_only(npyext_array_side *side, npyext_listed **only, npyx_error *error) {
    *only = NULL;
    for (int64_t i = 0; i < side->nentries; i++) {
        npyext_listed *listed = &side->entries[i];
        if (listed->is_taken)
            continue;
        npyx_status status = npyext_array_side_describe(side, listed, error);
        if (status == NPYX_DONE && npyx_poll(side->names.bytes.host, error) != NPYX_OK)
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

npyext_place npyext_array_side_place(const npyext_array_side *side) {
    return (npyext_place){.path = side->path, .entry = side->listed == NULL ? NULL : &side->entry};
}
