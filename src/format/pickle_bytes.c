/* The bytes of a pickle, read in pieces that stay where they are, because nodes point into them. */
#include "pickle.h"

uint64_t npyx_pickle_left(const npyx_pickle *p) {
    int64_t nbytes = p->source->nbytes - npyx_pickle_off(p);
    return nbytes < 0 ? 0 : (uint64_t)nbytes;
}

static npyx_status bytes_read_piece(npyx_pickle *p, uint8_t *piece, size_t left_nbytes, size_t nbytes) {
    size_t read_nbytes;
    if (left_nbytes > 0)
        memcpy(piece, p->next, left_nbytes);
    NPYX_TRY(npyx_source_read(p->source, p->end_off, piece + left_nbytes, nbytes, &read_nbytes, p->error));
    npyx_budget_add(p->budget, read_nbytes);
    p->objects->text_nbytes = p->budget->allowed_nbytes;
    p->next = piece;
    p->end = piece + left_nbytes + read_nbytes;
    p->end_off += (int64_t)read_nbytes;
    return npyx_poll(p->arena->host, p->error);
}

/* Reads on until nbytes are there, or all. A piece begins with what is left of the one before. What a length
 * says need not exist, so a long piece is made of pieces, each as long as all that has come. */
npyx_status npyx_pickle_fill(npyx_pickle *p, uint64_t nbytes) {
    while ((uint64_t)(p->end - p->next) < nbytes && p->end_off < p->source->nbytes) {
        size_t left_nbytes = (size_t)(p->end - p->next), more_nbytes = 2 * p->piece_nbytes;
        more_nbytes = more_nbytes < NPYX_PICKLE_PIECE_NBYTES ? more_nbytes : NPYX_PICKLE_PIECE_NBYTES;
        more_nbytes = more_nbytes < NPYX_PICKLE_FIRST_NBYTES ? NPYX_PICKLE_FIRST_NBYTES : more_nbytes;
        p->piece_nbytes = more_nbytes;
        more_nbytes = more_nbytes < left_nbytes ? left_nbytes : more_nbytes;
        if ((int64_t)more_nbytes > p->source->nbytes - p->end_off)
            more_nbytes = (size_t)(p->source->nbytes - p->end_off);
        uint8_t *piece = npyx_arena_alloc(p->arena, left_nbytes + more_nbytes);
        NPYX_TRY(npyx_check_memory(piece, p->error));
        NPYX_TRY(bytes_read_piece(p, piece, left_nbytes, more_nbytes));
        if ((size_t)(p->end - piece) < left_nbytes + more_nbytes)
            break;
    }
    return NPYX_OK;
}

npyx_status npyx_pickle_take(npyx_pickle *p, uint64_t nbytes, const uint8_t **bytes) {
    if (nbytes > (uint64_t)(p->end - p->next) && nbytes <= npyx_pickle_left(p))
        NPYX_TRY(npyx_pickle_fill(p, nbytes));
    if (nbytes > (uint64_t)(p->end - p->next))
        return npyx_pickle_fail(p, "%" PRIu64 " bytes are wanted, the pickle ends after %" PRIu64, nbytes,
                                npyx_pickle_left(p));
    *bytes = p->next;
    p->next += (size_t)nbytes;
    return NPYX_OK;
}

/* Whether there is a file in which such a string stays. One that goes beyond its end is read, and fails. */
bool npyx_pickle_leaves(const npyx_pickle *p, uint64_t nbytes) {
    return p->options.is_file && nbytes >= (uint64_t)NPYX_PICKLE_LEFT_NBYTES && nbytes <= npyx_pickle_left(p);
}

/* What is read after it may be left, too, so it begins with little. */
static npyx_status bytes_leave(npyx_pickle *p, int64_t nbytes, npyx_object **object) {
    NPYX_TRY(npyx_pickle_new(p, NPYX_OBJECT_LEFT, object));
    (*object)->left.off = npyx_pickle_off(p);
    (*object)->left.nbytes = nbytes;
    if (nbytes <= p->end - p->next) {
        p->next += nbytes;
    } else {
        p->end_off = (*object)->left.off + nbytes;
        p->next = p->end;
        p->piece_nbytes = 0;
    }
    return NPYX_OK;
}

npyx_status npyx_pickle_take_bytes(npyx_pickle *p, uint64_t nbytes, npyx_object **object) {
    const uint8_t *bytes;
    if (npyx_pickle_leaves(p, nbytes))
        return bytes_leave(p, (int64_t)nbytes, object);
    NPYX_TRY(npyx_pickle_take(p, nbytes, &bytes));
    return npyx_pickle_new_bytes(p, NPYX_OBJECT_BYTES, bytes, (size_t)nbytes, object);
}
