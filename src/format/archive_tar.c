/*
 * The arrays of a tar: its members that begin like a .npy, .npz or .ten, whatever their names, and each array
 * inside such a member separately.
 *
 *     member        | a.emb.npy | b.txt | c.feats.npz        | d.x.ten |
 *     place (array)  | 0         |       | 1 (w)  | 2 (bias)  | 3       |
 *
 * The walk passes the members once and leaves a place for each array, so that later lookups seek. Another
 * walk through the same tar, to list its members, leaves places for the plain .npy files that it passes. A
 * member is opened as an archive of its own when it is looked into; the one opened last is kept for its next
 * array, and each for as long as something reads from it.
 */
#include "archive.h"
#include "io/first_bytes.h"
#include "tar.h"
#include "text/number_text.h"
#include "text/span.h"

enum { TAR_IS_DAMAGED = -1, TAR_IS_SPARSE = -2 }; /* inner for a member as a whole */

/* A name stored once in a tar may be that of very many arrays: of all in a member, of all members after a
 * global header. So the names that are kept have a limit, which grows with the number of arrays. A single
 * name always fits, even one of invalid UTF-8 only. */
enum { NAMES_NBYTES = 1 << 24, NAME_NBYTES_ON_AVERAGE = 1 << 12 };

/* A compressed tar of a few megabytes may have any number of them. */
enum { MAX_NARRAYS = 5000000 };

typedef struct tar_place {
    int64_t header_off, data_off, nbytes; /* of the member */
    int64_t inner;    /* number of the array in the member, or a fault of the whole member */
    const char *name; /* in the arena */
    uint32_t name_nbytes, member_nbytes, sample_nbytes;
    int zip_method;
} tar_place;

typedef struct tar_archive tar_archive;

/* An open member. */
typedef struct tar_nested {
    tar_archive *tar;
    npyx_archive *archive;
    int64_t data_off;
    bool has_no_names; /* they cannot be learnt, and trying costs a pass through the member */
    int nusers;        /* sources that read from it, and the tar while it is its newest */
} tar_nested;

/* The last .npy file of one array that another walk passed: shards are full of them, and another of this size
 * that begins like it is one, too. */
typedef struct tar_like {
    int64_t nbytes;      /* of all of it; 0: none yet */
    size_t begin_nbytes; /* up to the first item */
    uint8_t begin[NPYX_LOOKALIKE_NBYTES];
} tar_like;

struct tar_archive {
    npyx_archive base;
    npyx_tar_walk walk;
    npyx_tar_walk *at; /* the walk whose member is looked into: this or another */
    tar_like like;
    tar_place *places;
    int64_t nplaces, capacity_nplaces;
    npyx_arena names;
    int64_t names_nbytes; /* of all places, and of those that did not fit */
    npyx_buffer name;     /* of the current member, in UTF-8 */
    bool is_walked;
    int64_t learnt_off;    /* of the header of the last member that another walk passed */
    npyx_error walk_error; /* what ended the walk, after the last place; NPYX_OK: the end */
    tar_nested *newest;    /* NULL: none is open */
};

/* ---- open members ---- */

static void nested_release(void *ctx) {
    tar_nested *nested = ctx;
    npyx_host *host = nested->tar->base.source->host;
    if (--nested->nusers > 0)
        return;
    npyx_archive_close(nested->archive);
    npyx_free(host, nested);
}

static void tar_forget_newest(tar_archive *tar) {
    if (tar->newest != NULL)
        nested_release(tar->newest);
    tar->newest = NULL;
}

/* A member's bytes as a source: a copy if all of them are known, so that a small one is read with the headers
 * around it and not again. */
static npyx_status nested_source(const tar_archive *tar, int64_t data_off, int64_t nbytes,
                                 const uint8_t *head, size_t head_nbytes, npyx_source **source,
                                 npyx_error *error) {
    npyx_source *shard = tar->base.source;
    if (head_nbytes == 0 || (int64_t)head_nbytes < nbytes)
        return npyx_source_open_range(shard, data_off, nbytes, false, 0, source, error);
    uint8_t *copy = npyx_alloc(shard->host, head_nbytes);
    NPYX_TRY(npyx_check_memory(copy, error));
    memcpy(copy, head, head_nbytes);
    NPYX_TRY(npyx_source_open_held(shard->host, copy, head_nbytes, source, error));
    (*source)->file_off = shard->file_off + data_off;
    return NPYX_OK;
}

/* npyx_archive_open for a source whose first head_nbytes are known: NPYX_LOOKALIKE_NBYTES or all. Only
 * formats that a tar's members may have, .npy, .npz and .ten; NPYX_DONE, with the source closed, for all
 * others. */
static npyx_status tar_open_member(npyx_source *source, const uint8_t *head, size_t head_nbytes,
                                   npyx_archive **archive, npyx_error *error) {
    npyx_status status = NPYX_DONE;
    if (npyx_begins_npy(head, head_nbytes) || npyx_begins_ten(head, head_nbytes))
        status = npyx_archive_series_open(
            source, npyx_begins_npy(head, head_nbytes) ? NPYX_FORMAT_NPY : NPYX_FORMAT_TEN, head, head_nbytes,
            archive, error);
    else if (npyx_begins_zip(head, head_nbytes))
        status = npyx_archive_zip_open(source, false, archive, error);
    if (status != NPYX_OK)
        npyx_source_close(source);
    return status;
}

/* Opens a member and makes it the newest. head: its first bytes, head_nbytes of them. NPYX_DONE: it is not a
 * file of arrays. */
static npyx_status nested_open(tar_archive *tar, int64_t data_off, int64_t nbytes, const uint8_t *head,
                               size_t head_nbytes, npyx_error *error) {
    npyx_host *host = tar->base.source->host;
    npyx_source *source = NULL;
    tar_forget_newest(tar);
    NPYX_TRY(nested_source(tar, data_off, nbytes, head, head_nbytes, &source, error));
    tar_nested *nested = npyx_alloc(host, sizeof *nested);
    if (nested == NULL) {
        npyx_source_close(source);
        return npyx_fail_nomem(error);
    }
    *nested = (tar_nested){.tar = tar, .data_off = data_off, .nusers = 1};
    size_t looked_nbytes = head_nbytes < NPYX_LOOKALIKE_NBYTES ? head_nbytes : NPYX_LOOKALIKE_NBYTES;
    npyx_status status = tar_open_member(source, head, looked_nbytes, &nested->archive, error);
    if (status == NPYX_OK)
        tar->newest = nested;
    else
        npyx_free(host, nested);
    return status;
}

/* Opens the member of a place. A small one is read at once, so that looking up an array takes one read. */
static npyx_status nested_read(tar_archive *tar, const tar_place *place, npyx_error *error) {
    npyx_source *shard = tar->base.source;
    bool is_small = place->nbytes <= NPYX_TAR_SMALL_NBYTES;
    size_t wanted_nbytes = is_small ? (size_t)place->nbytes : NPYX_LOOKALIKE_NBYTES, nbytes = 0;
    uint8_t *head = npyx_alloc(shard->host, wanted_nbytes);
    NPYX_TRY(npyx_check_memory(head, error));
    npyx_status status = npyx_source_read(shard, place->data_off, head, wanted_nbytes, &nbytes, error);
    if (status == NPYX_OK && is_small) /* a copy is not checked against the file again */
        status = npyx_source_check(shard, error);
    if (status == NPYX_OK)
        status = nested_open(tar, place->data_off, place->nbytes, head, nbytes, error);
    npyx_free(shard->host, head);
    return status;
}

/* Finds the member of a place, and opens it if necessary. */
static npyx_status nested_of(tar_archive *tar, const tar_place *place, tar_nested **nested,
                             npyx_error *error) {
    if (tar->newest == NULL || tar->newest->data_off != place->data_off) {
        npyx_status status = nested_read(tar, place, error);
        if (status == NPYX_DONE)
            return npyx_fail_as(error, NPYX_KIND_CHANGED, NPYX_IO, place->data_off,
                                "the file changed while it was read");
        NPYX_TRY(status);
    }
    *nested = tar->newest;
    return NPYX_OK;
}

/* ---- the walk ---- */

/* The member's name as UTF-8, with U+FFFD for invalid bytes. */
static npyx_status tar_note_name(tar_archive *tar, npyx_error *error) {
    const npyx_buffer *name = &tar->at->member.texts[NPYX_TAR_NAME];
    npyx_buffer_reset(&tar->name);
    npyx_buffer_append_utf8(&tar->name, name->bytes, name->nbytes);
    return npyx_buffer_check(&tar->name, error);
}

/* Adds an array of the current member. tar->name is its own, which begins with the member's and is cut back
 * to that. */
static npyx_status tar_add_place(tar_archive *tar, int64_t inner, size_t sample_nbytes, int zip_method,
                                 npyx_error *error) {
    const npyx_tar_member *member = &tar->at->member;
    size_t nbytes = tar->name.nbytes;
    NPYX_TRY(npyx_buffer_check(&tar->name, error));
    tar->names_nbytes += (int64_t)nbytes;
    if (tar->nplaces == MAX_NARRAYS)
        return npyx_fail_as(error, NPYX_KIND_LIMIT, NPYX_UNSUPPORTED, member->header_off,
                            "has more than %d arrays, which is as many as are kept of a .tar",
                            (int)MAX_NARRAYS);
    if (tar->names_nbytes - NAMES_NBYTES > tar->nplaces * NAME_NBYTES_ON_AVERAGE)
        return npyx_fail_as(error, NPYX_KIND_LIMIT, NPYX_UNSUPPORTED, member->header_off,
                            "the names of the arrays up to byte %" PRId64
                            " are longer than what is kept (%d bytes, and %d for each array)",
                            member->header_off, (int)NAMES_NBYTES, (int)NAME_NBYTES_ON_AVERAGE);
    NPYX_TRY(npyx_grow(tar->base.source->host, &tar->places, tar->nplaces, &tar->capacity_nplaces,
                       sizeof tar->places[0], error));
    const char *name = npyx_arena_copy(&tar->names, nbytes == 0 ? "" : tar->name.bytes, nbytes);
    NPYX_TRY(npyx_check_memory(name, error));
    const npyx_span own = {name, nbytes};
    bool is_npy = nbytes == sample_nbytes && npyx_span_ends(own, ".npy");
    tar->places[tar->nplaces++] = (tar_place){.header_off = member->header_off,
                                              .data_off = member->data_off,
                                              .nbytes = member->data_nbytes,
                                              .inner = inner,
                                              .name = name,
                                              .name_nbytes = (uint32_t)(is_npy ? nbytes - 4 : nbytes),
                                              .member_nbytes = (uint32_t)nbytes,
                                              .sample_nbytes = (uint32_t)sample_nbytes,
                                              .zip_method = zip_method};
    tar->name.nbytes = sample_nbytes;
    return NPYX_OK;
}

/* Adds the member itself as an array. */
static npyx_status tar_add_member(tar_archive *tar, int64_t inner, npyx_error *error) {
    return tar_add_place(tar, inner, tar->name.nbytes, -1, error);
}

/* A fault of the moment, not of a member. */
static bool is_of_moment(npyx_status status) {
    return status == NPYX_NOMEM || status == NPYX_INTERRUPTED || status == NPYX_IO;
}

/* Whether an entry of the newest member is an array; an unreadable one counts as an array with a fault. */
static npyx_status tar_is_array(tar_archive *tar, int64_t inner, bool *is_one, npyx_error *error) {
    npyx_array array;
    npyx_array_init(&array, tar->base.source->host);
    npyx_status status = npyx_archive_describe(tar->newest->archive, inner, &array, error);
    *is_one = status != NPYX_OK || array.is_array;
    npyx_array_clear(&array);
    return is_of_moment(status) ? status : NPYX_OK;
}

/* Whether a name selects that array of the newest member. */
static npyx_status tar_is_name_of(tar_archive *tar, int64_t inner, const char *name, size_t nbytes,
                                  bool *is_its, npyx_error *error) {
    tar_nested *nested = tar->newest;
    int64_t found = -1;
    *is_its = false;
    if (nbytes == 0 || nested->has_no_names)
        return NPYX_OK;
    npyx_status status = npyx_archive_find(nested->archive, name, nbytes, &found, error);
    if (is_of_moment(status))
        return status;
    *is_its = status == NPYX_OK && found == inner;
    nested->has_no_names = status != NPYX_OK && status != NPYX_NOT_FOUND && status != NPYX_INVALID;
    return NPYX_OK;
}

/* Adds an array of the newest member by its name, or by its number if the name is empty or selects another
 * one. */
static npyx_status tar_add_inner(tar_archive *tar, int64_t inner, const npyx_entry *entry,
                                 npyx_error *error) {
    size_t sample_nbytes = tar->name.nbytes;
    int zip_method = entry->zip_method;
    char number[NPYX_NUMBER_TEXT_NBYTES];
    bool is_its = false;
    npyx_buffer_append_char(&tar->name, ':');
    npyx_buffer_append(&tar->name, entry->name, entry->name_nbytes);
    NPYX_TRY(npyx_buffer_check(&tar->name, error));
    const char *name = tar->name.bytes + sample_nbytes + 1; /* looking it up invalidates the entry's */
    size_t name_nbytes = tar->name.nbytes - sample_nbytes - 1;
    NPYX_TRY(tar_is_name_of(tar, inner, name, name_nbytes, &is_its, error));
    if (!is_its) {
        tar->name.nbytes = sample_nbytes + 1;
        npyx_buffer_append(&tar->name, number, npyx_text_i64(inner, number));
    }
    return tar_add_place(tar, inner, sample_nbytes, zip_method, error);
}

/* Adds the arrays of the newest member. */
static npyx_status tar_add_nested(tar_archive *tar, npyx_error *error) {
    npyx_archive *nested = tar->newest->archive;
    if (npyx_archive_is_one_npy(nested))
        return tar_add_member(tar, 0, error);
    for (int64_t inner = 0;; inner++) {
        npyx_entry entry;
        npyx_status status = npyx_archive_entry(nested, inner, &entry, error);
        if (status == NPYX_DONE)
            return NPYX_OK;
        NPYX_TRY(status);
        bool is_one = true;
        if (nested->format == NPYX_FORMAT_NPZ)
            NPYX_TRY(tar_is_array(tar, inner, &is_one, error));
        if (is_one)
            NPYX_TRY(tar_add_inner(tar, inner, &entry, error));
    }
}

/* Whether the noted name is that of a file of arrays. */
static bool tar_is_named_as_arrays(const tar_archive *tar) {
    static const char *const suffixes[] = {".npy", ".npz", ".ten"};
    const npyx_span name = {tar->name.nbytes == 0 ? "" : tar->name.bytes, tar->name.nbytes};
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        if (npyx_span_ends(name, suffixes[i]))
            return true;
    }
    return false;
}

/* A sparse member is not assembled, so its first bytes are unknown. If it is named like a file of arrays it
 * counts as one with a fault, rather than not at all. */
static npyx_status tar_add_sparse(tar_archive *tar, npyx_error *error) {
    NPYX_TRY(tar_note_name(tar, error));
    return tar_is_named_as_arrays(tar) ? tar_add_member(tar, TAR_IS_SPARSE, error) : NPYX_OK;
}

/* Looks into the current member. A fault of a member is its own, not the tar's. */
static npyx_status tar_look_into(tar_archive *tar, npyx_error *error) {
    const npyx_tar_member *member = &tar->at->member;
    const uint8_t *head = NULL;
    size_t head_nbytes = 0;
    if (member->type == NPYX_TAR_SPARSE)
        return tar_add_sparse(tar, error);
    if (member->type != NPYX_TAR_FILE)
        return NPYX_OK;
    NPYX_TRY(npyx_tar_head(tar->at, NPYX_LOOKALIKE_NBYTES, &head, &head_nbytes, error));
    bool is_npy = npyx_begins_npy(head, head_nbytes);
    if (!is_npy && !npyx_begins_ten(head, head_nbytes) && !npyx_begins_zip(head, head_nbytes))
        return NPYX_OK;
    if (member->data_nbytes <= NPYX_TAR_SMALL_NBYTES)
        NPYX_TRY(npyx_tar_head(tar->at, NPYX_TAR_SMALL_NBYTES, &head, &head_nbytes, error));
    npyx_status status = nested_open(tar, member->data_off, member->data_nbytes, head, head_nbytes, error);
    if (status == NPYX_DONE)
        return NPYX_OK;
    if (is_of_moment(status))
        return status;
    NPYX_TRY(tar_note_name(tar, error));
    if (status == NPYX_OK)
        status = tar_add_nested(tar, error);
    bool is_own = status == NPYX_CORRUPT || status == NPYX_UNSUPPORTED || status == NPYX_TOOBIG;
    if (is_own && error->kind != NPYX_KIND_LIMIT && !is_npy && !tar_is_named_as_arrays(tar))
        return NPYX_OK; /* a text may begin like a zip or a .ten */
    return is_own ? tar_add_member(tar, TAR_IS_DAMAGED, error) : status;
}

/* Adds the arrays of the next member. A fault of the moment leaves the walk before it, so that asking again
 * misses none of them. */
static npyx_status tar_take_member(tar_archive *tar, npyx_error *error) {
    int64_t off = tar->walk.off, nplaces = tar->nplaces, names_nbytes = tar->names_nbytes;
    NPYX_TRY(npyx_tar_next(&tar->walk, error));
    npyx_status status = tar_look_into(tar, error);
    if (is_of_moment(status)) {
        tar->nplaces = nplaces;
        tar->names_nbytes = names_nbytes;
        npyx_tar_seek(&tar->walk, off);
    }
    return status;
}

/* Walks on until there is a place with that number, or to the end. */
static npyx_status tar_walk_to(tar_archive *tar, int64_t index, npyx_error *error) {
    while (tar->nplaces <= index && !tar->is_walked) {
        npyx_status status = tar_take_member(tar, &tar->walk_error);
        if (status == NPYX_OK)
            continue;
        if (status == NPYX_DONE) { /* small members were copied, and not checked against the file since */
            status = npyx_source_check(tar->base.source, &tar->walk_error);
            tar->walk_error.status = status;
        }
        if (is_of_moment(status))
            return npyx_fail_again(error, &tar->walk_error);
        tar->walk_error.status = status;
        tar->is_walked = true;
    }
    if (index < tar->nplaces)
        return NPYX_OK;
    return tar->walk_error.status == NPYX_OK ? NPYX_DONE : npyx_fail_again(error, &tar->walk_error);
}

/* ---- what another walk passes ---- */

/* Makes the current member the like, if it is a .npy of one array whose whole header is in its first bytes.
 * NPYX_DONE: it is not. */
static npyx_status tar_find_like(tar_archive *tar, const uint8_t *head, size_t head_nbytes,
                                 npyx_error *error) {
    int64_t nbytes = tar->at->member.data_nbytes;
    npyx_array array;
    npyx_array_init(&array, tar->base.source->host);
    npyx_status status = nested_open(tar, tar->at->member.data_off, nbytes, head, head_nbytes, error);
    if (status == NPYX_OK)
        status = npyx_archive_describe(tar->newest->archive, 0, &array, error);
    bool is_one = status == NPYX_OK && !array.dtype->has_objects && array.data_off <= (int64_t)head_nbytes &&
                  array.data_off + array.nbytes == nbytes;
    if (is_one) {
        tar->like = (tar_like){.nbytes = nbytes, .begin_nbytes = (size_t)array.data_off};
        memcpy(tar->like.begin, head, tar->like.begin_nbytes);
    }
    npyx_array_clear(&array);
    return is_one ? NPYX_OK : NPYX_DONE;
}

/* tar_look_into for a member of which only the first bytes are read. NPYX_DONE: they are not enough. */
static npyx_status tar_look_at(tar_archive *tar, npyx_error *error) {
    const npyx_tar_member *member = &tar->at->member;
    const uint8_t *head = NULL;
    size_t nbytes = 0;
    if (member->type != NPYX_TAR_FILE)
        return member->type == NPYX_TAR_SPARSE ? tar_add_sparse(tar, error) : NPYX_OK;
    NPYX_TRY(npyx_tar_head(tar->at, NPYX_LOOKALIKE_NBYTES, &head, &nbytes, error));
    if (npyx_begins_ten(head, nbytes) || npyx_begins_zip(head, nbytes))
        return NPYX_DONE;
    if (!npyx_begins_npy(head, nbytes))
        return NPYX_OK;
    bool is_like = tar->like.nbytes > 0 && tar->like.nbytes == member->data_nbytes &&
                   nbytes >= tar->like.begin_nbytes &&
                   memcmp(head, tar->like.begin, tar->like.begin_nbytes) == 0;
    if (!is_like)
        NPYX_TRY(tar_find_like(tar, head, nbytes, error));
    NPYX_TRY(tar_note_name(tar, error));
    return tar_add_member(tar, 0, error);
}

void npyx_archive_tar_learn(npyx_archive *archive, npyx_tar_walk *walk) {
    tar_archive *tar = (tar_archive *)archive;
    npyx_error error; /* the tar's own walk will meet it again */
    int64_t nplaces = tar->nplaces, names_nbytes = tar->names_nbytes;
    if (walk->member.header_off != tar->walk.off || tar->is_walked)
        return;
    tar->at = walk;
    npyx_status status = tar_look_at(tar, &error);
    tar->at = &tar->walk;
    if (status == NPYX_OK) {
        tar->learnt_off = walk->member.header_off;
        npyx_tar_catch_up(&tar->walk, walk);
    } else {
        tar->nplaces = nplaces;
        tar->names_nbytes = names_nbytes;
    }
}

void npyx_archive_tar_learn_end(npyx_archive *archive, const npyx_tar_walk *walk) {
    tar_archive *tar = (tar_archive *)archive;
    bool is_all = tar->learnt_off >= 0 && walk->member.header_off == tar->learnt_off && !tar->is_walked;
    npyx_error error;
    if (!is_all || npyx_source_check(archive->source, &error) != NPYX_OK)
        return;
    tar->is_walked = true;
    tar->walk_error.status = NPYX_OK;
}

/* ---- an archive's methods ---- */

static npyx_status tar_entry(npyx_archive *base, int64_t index, npyx_entry *entry, npyx_error *error) {
    tar_archive *tar = (tar_archive *)base;
    NPYX_TRY(tar_walk_to(tar, index, error));
    const tar_place *place = &tar->places[index];
    *entry = (npyx_entry){.name = place->name,
                          .name_nbytes = place->name_nbytes,
                          .member_nbytes = place->member_nbytes,
                          .sample_nbytes = place->sample_nbytes,
                          .header_off = place->header_off,
                          .zip_method = place->zip_method};
    return NPYX_OK;
}

/* The place, and its member, opened. */
static npyx_status tar_open_place(tar_archive *tar, int64_t index, const tar_place **place,
                                  tar_nested **nested, npyx_error *error) {
    npyx_entry entry;
    NPYX_TRY(tar_walk_to(tar, index, error));
    *place = &tar->places[index];
    if ((*place)->inner == TAR_IS_SPARSE)
        return npyx_tar_fail_sparse((*place)->header_off, error);
    NPYX_TRY(nested_of(tar, *place, nested, error));
    if ((*place)->inner >= 0)
        return NPYX_OK;
    for (int64_t inner = 0;; inner++) /* the member's fault is reported again */
        NPYX_TRY(npyx_archive_entry((*nested)->archive, inner, &entry, error));
}

static npyx_status tar_describe(npyx_archive *base, int64_t index, npyx_array *array, npyx_error *error) {
    const tar_place *place = NULL;
    tar_nested *nested = NULL;
    array->is_array = true;
    NPYX_TRY(tar_open_place((tar_archive *)base, index, &place, &nested, error));
    return npyx_archive_describe(nested->archive, place->inner, array, error);
}

static npyx_status tar_locate(npyx_archive *base, int64_t index, int64_t *payload_off, npyx_error *error) {
    const tar_place *place = NULL;
    tar_nested *nested = NULL;
    NPYX_TRY(tar_open_place((tar_archive *)base, index, &place, &nested, error));
    *payload_off = 0;
    if (nested->archive->format != NPYX_FORMAT_TEN) /* its offsets count from the start of the member */
        NPYX_TRY(npyx_archive_locate(nested->archive, place->inner, payload_off, error));
    *payload_off += place->data_off;
    return NPYX_OK;
}

static npyx_status tar_open(npyx_archive *base, int64_t index, npyx_source **payload, npyx_error *error) {
    const tar_place *place = NULL;
    tar_nested *nested = NULL;
    NPYX_TRY(tar_open_place((tar_archive *)base, index, &place, &nested, error));
    NPYX_TRY(npyx_archive_open_payload(nested->archive, place->inner, payload, error));
    nested->nusers++;
    (*payload)->on_close = nested_release;
    (*payload)->on_close_ctx = nested;
    return NPYX_OK;
}

static void tar_quiesce(npyx_archive *base) {
    tar_archive *tar = (tar_archive *)base;
    if (tar->newest != NULL)
        npyx_archive_quiesce(tar->newest->archive);
}

static void tar_close(npyx_archive *base) {
    tar_archive *tar = (tar_archive *)base;
    npyx_host *host = base->source->host;
    tar_forget_newest(tar);
    npyx_tar_clear(&tar->walk);
    npyx_buffer_clear(&tar->name);
    npyx_arena_clear(&tar->names);
    npyx_free(host, tar->places);
    npyx_source_close(base->source);
    npyx_free(host, base);
}

static const npyx_archive_ops tar_ops = {.entry = tar_entry,
                                         .describe = tar_describe,
                                         .locate = tar_locate,
                                         .open = tar_open,
                                         .quiesce = tar_quiesce,
                                         .close = tar_close};

npyx_status npyx_archive_tar_open(npyx_source *source, bool is_inflated, npyx_archive **archive,
                                  npyx_error *error) {
    tar_archive *tar = npyx_alloc_zeroed(source->host, sizeof *tar);
    NPYX_TRY(npyx_check_memory(tar, error));
    tar->base = (npyx_archive){
        .ops = &tar_ops, .format = NPYX_FORMAT_TAR, .source = source, .is_inflated = is_inflated};
    tar->walk.window.source = source;
    tar->at = &tar->walk;
    tar->learnt_off = -1;
    tar->name.host = tar->names.host = source->host;
    *archive = &tar->base;
    return NPYX_OK;
}
