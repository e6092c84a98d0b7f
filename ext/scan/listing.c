#include "listing.h"

#include <string.h>

void npyext_listing_clear(npyext_listing *listing) {
    npyx_host *host = listing->names.host;
    if (host == NULL)
        return;
    npyx_free(host, listing->entries);
    npyx_free(host, listing->slots);
    npyx_arena_clear(&listing->names);
    *listing = (npyext_listing){.names.host = host};
}

static npyx_status listing_append(npyext_listing *listing, int64_t index, const npyx_entry *entry,
                                  npyx_error *error) {
    npyx_host *host = listing->names.host;
    if (listing->nentries == listing->capacity_nentries) {
        int64_t capacity = listing->capacity_nentries * 2 + 16;
        npyext_listed *entries =
            host->resize(host->ctx, listing->entries, (size_t)capacity * sizeof *entries);
        if (entries == NULL)
            return npyx_fail_nomem(error);
        listing->entries = entries;
        listing->capacity_nentries = capacity;
    }
    const char *name = npyx_arena_copy(&listing->names, entry->name, entry->name_nbytes);
    if (name == NULL)
        return npyx_fail_nomem(error);
    int64_t number = listing->nentries++;
    listing->entries[number] = (npyext_listed){.index = index,
                                               .name = name,
                                               .name_nbytes = entry->name_nbytes,
                                               .hash = npyx_hash_name(host, name, entry->name_nbytes),
                                               .next_same = -1,
                                               .last_same = number};
    return NPYX_OK;
}

static bool is_same_name(const npyext_listed *a, const npyext_listed *b) {
    return a->hash == b->hash && a->name_nbytes == b->name_nbytes &&
           (a->name_nbytes == 0 || memcmp(a->name, b->name, a->name_nbytes) == 0);
}

/* The slot that holds a name, or the free one where it belongs. */
static int64_t *listing_slot_of(npyext_listing *listing, const npyext_listed *name) {
    uint64_t slot = name->hash & listing->slot_mask;
    while (listing->slots[slot] >= 0 && !is_same_name(&listing->entries[listing->slots[slot]], name))
        slot = (slot + 1) & listing->slot_mask;
    return &listing->slots[slot];
}

npyext_listed *npyext_listing_find(npyext_listing *listing, const npyext_listed *name) {
    int64_t *slot = listing_slot_of(listing, name);
    if (*slot < 0)
        return NULL;
    npyext_listed *entry = &listing->entries[*slot];
    while (entry->is_taken && entry->next_same >= 0) {
        *slot = entry->next_same; /* not to be looked at again: a file may hold a million of one name */
        entry = &listing->entries[*slot];
    }
    return entry->is_taken ? NULL : entry;
}

/* Makes the hash table. With keeps_last an entry whose name comes again is taken from the start. */
static npyx_status make_table(npyext_listing *listing, bool keeps_last, npyx_error *error) {
    uint64_t nslots = 16;
    while (nslots < (uint64_t)listing->nentries * 2)
        nslots *= 2;
    listing->slots = npyx_alloc(listing->names.host, (size_t)nslots * sizeof *listing->slots);
    if (listing->slots == NULL)
        return npyx_fail_nomem(error);
    listing->slot_mask = nslots - 1;
    for (uint64_t slot = 0; slot < nslots; slot++)
        listing->slots[slot] = -1;
    for (int64_t i = 0; i < listing->nentries; i++) {
        npyx_status status = (i & 4095) == 4095 ? npyx_poll(listing->names.host, error) : NPYX_OK;
        if (status != NPYX_OK)
            return status;
        int64_t *slot = listing_slot_of(listing, &listing->entries[i]);
        if (*slot < 0) {
            *slot = i;
        } else if (keeps_last) {
            listing->entries[*slot].is_taken = true;
            *slot = i;
        } else {
            npyext_listed *first = &listing->entries[*slot];
            listing->entries[first->last_same].next_same = i;
            first->last_same = i;
        }
    }
    return NPYX_OK;
}

npyx_status npyext_listing_read(npyext_listing *listing, npyx_archive *archive, int64_t only_index,
                                npyx_error *error) {
    npyx_status status = NPYX_OK;
    int64_t index = only_index < 0 ? 0 : only_index;
    for (; status == NPYX_OK; index++) {
        npyx_entry entry;
        status = npyx_archive_entry(archive, index, &entry, error);
        if (status == NPYX_OK)
            status = listing_append(listing, index, &entry, error);
        if (status == NPYX_OK && only_index >= 0)
            break;
        if (status == NPYX_OK && (index & 255) == 255)
            status = npyx_poll(listing->names.host, error);
    }
    if (status != NPYX_OK && status != NPYX_DONE)
        return status;
    return make_table(listing, archive->format == NPYX_FORMAT_NPZ, error);
}
