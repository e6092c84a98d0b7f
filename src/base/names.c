/*
 * A name set is a buffer, an array and a table with open addressing (linear probing), hashed with the host's
 * random key: nobody can construct names that collide.
 *
 *     bytes     a r r _ 0 a r r _ 1 ...
 *     entries   {off 0, 5 bytes, hash, 1st of its name} {off 5, ...} ...
 *     slots     -1 | 1 | -1 | 0 | ...     entry numbers, at hash modulo nslots or later
 */
#include "names.h"

#include <stdio.h>

typedef struct npyx_name_entry {
    size_t off;
    size_t nbytes;
    uint64_t hash;
    int64_t nsame;  /* entries with its name, up to this one */
    int64_t before; /* the previous entry with its name */
} npyx_name_entry;

/* An entry's name; there are no bytes at all when all names are empty. */
static const char *text_of(const npyx_name_set *set, const npyx_name_entry *entry) {
    return entry->nbytes == 0 ? "" : set->bytes.bytes + entry->off;
}

/* The slot of the last entry with a name, or the free one where it belongs. */
static int64_t *name_set_slot_of(const npyx_name_set *set, uint64_t hash, const char *name, size_t nbytes) {
    size_t slot = (size_t)hash & (set->nslots - 1);
    for (; set->slots[slot] >= 0; slot = (slot + 1) & (set->nslots - 1)) {
        const npyx_name_entry *entry = &set->entries[set->slots[slot]];
        if (entry->hash == hash && entry->nbytes == nbytes && memcmp(text_of(set, entry), name, nbytes) == 0)
            break;
    }
    return &set->slots[slot];
}

int64_t npyx_name_set_find(const npyx_name_set *set, const char *name, size_t nbytes, int64_t *nsame) {
    int64_t i = -1;
    if (set->nslots > 0)
        i = *name_set_slot_of(set, npyx_hash_name(set->bytes.host, name, nbytes), name, nbytes);
    if (nsame != NULL)
        *nsame = i < 0 ? 0 : set->entries[i].nsame;
    return i;
}

const char *npyx_name_set_text(const npyx_name_set *set, int64_t i, size_t *nbytes) {
    *nbytes = set->entries[i].nbytes;
    return text_of(set, &set->entries[i]);
}

size_t npyx_name_set_nbytes(const npyx_name_set *set) {
    return set->bytes.capacity_nbytes + (size_t)set->capacity * sizeof set->entries[0] +
           set->nslots * sizeof set->slots[0];
}

int64_t npyx_name_set_before(const npyx_name_set *set, int64_t i) {
    return set->entries[i].before;
}

/* Puts an entry in place of the previous one with its name: a file may hold a million with one name. */
static void name_set_place(npyx_name_set *set, int64_t i) {
    npyx_name_entry *entry = &set->entries[i];
    int64_t *slot = name_set_slot_of(set, entry->hash, text_of(set, entry), entry->nbytes);
    entry->before = *slot;
    entry->nsame = *slot < 0 ? 1 : set->entries[*slot].nsame + 1;
    *slot = i;
}

static void place_all(npyx_name_set *set) {
    memset(set->slots, -1, set->nslots * sizeof set->slots[0]); /* each becomes -1 */
    for (int64_t i = 0; i < set->count; i++)
        name_set_place(set, i);
}

/* Keeps at least half of the slots free. */
static bool name_set_grow(npyx_name_set *set) {
    if (((size_t)set->count + 1) * 2 <= set->nslots)
        return true;
    size_t nslots = set->nslots == 0 ? NPYX_NAMES_NSLOTS : set->nslots * 2;
    if (nslots > SIZE_MAX / sizeof set->slots[0])
        return false;
    int64_t *slots = npyx_alloc_array(set->bytes.host, (int64_t)nslots, sizeof slots[0]);
    if (slots == NULL)
        return false;
    npyx_free(set->bytes.host, set->slots);
    set->slots = slots;
    set->nslots = nslots;
    place_all(set);
    return true;
}

npyx_status npyx_name_set_add(npyx_name_set *set, const char *name, size_t nbytes, npyx_error *error) {
    npyx_host *host = set->bytes.host;
    NPYX_TRY(npyx_grow(host, &set->entries, set->count, &set->capacity, sizeof set->entries[0], error));
    if (!name_set_grow(set) || !npyx_buffer_reserve(&set->bytes, nbytes)) {
        set->bytes.status = NPYX_OK;
        return npyx_fail_nomem(error);
    }
    set->entries[set->count] = (npyx_name_entry){
        .off = set->bytes.nbytes, .nbytes = nbytes, .hash = npyx_hash_name(host, name, nbytes)};
    npyx_buffer_append(&set->bytes, name, nbytes);
    name_set_place(set, set->count++);
    return NPYX_OK;
}

void npyx_name_set_cut(npyx_name_set *set, int64_t count) {
    if (count >= set->count)
        return;
    if (count == 0 &&
        set->nslots > NPYX_NAMES_NSLOTS) { /* placing costs time per slot, however few names follow */
        npyx_name_set_clear(set);
        return;
    }
    set->bytes.nbytes = set->entries[count].off;
    set->count = count;
    place_all(set);
}

void npyx_name_set_clear(npyx_name_set *set) {
    npyx_host *host = set->bytes.host;
    npyx_buffer_clear(&set->bytes);
    npyx_free(host, set->entries);
    npyx_free(host, set->slots);
    *set = (npyx_name_set){.bytes.host = host};
}

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
    list->nbytes += (size_t)snprintf(list->text + list->nbytes, NPYX_NAME_LIST_NBYTES - list->nbytes,
                                     "%s'%.*s'", list->nbytes == 0 ? "" : ", ", shown_nbytes, name);
}

const char *npyx_name_list_text(npyx_name_list *list) {
    if (list->nmore > 0)
        snprintf(list->text + list->nbytes, NPYX_NAME_LIST_NBYTES - list->nbytes, " and %" PRId64 " more",
                 list->nmore);
    return list->text;
}
