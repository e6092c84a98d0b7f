/*
 * The kind, then for each argument its type, eight bytes (a number, or a length), and the bytes of that
 * length and a NUL. Nobody else can make one, for a handle has a MAC; still nothing is read beyond its end.
 */
#include "recipe.h"

#include "base/bytes.h"

enum { RECIPE_HEAD_NBYTES = 9 };

void npyext_recipe_append(const npyext_recipe *recipe, npyx_buffer *out) {
    npyx_buffer_append_char(out, (char)recipe->kind);
    for (int i = 0; i < recipe->narguments; i++) {
        const npyext_argument *argument = &recipe->arguments[i];
        uint8_t head[RECIPE_HEAD_NBYTES] = {(uint8_t)argument->type};
        bool has_bytes = argument->type == SQLITE_TEXT || argument->type == SQLITE_BLOB;
        uint64_t word = has_bytes ? (uint64_t)argument->nbytes : (uint64_t)argument->integer;
        if (argument->type == SQLITE_FLOAT)
            memcpy(&word, &argument->real, sizeof word);
        npyx_store_u64(head + 1, word, false);
        npyx_buffer_append(out, head, sizeof head);
        if (has_bytes) {
            npyx_buffer_append(out, argument->bytes, argument->nbytes);
            npyx_buffer_append_char(out, '\0');
        }
    }
}

bool npyext_recipe_read(const void *from, size_t nbytes, npyext_recipe *recipe) {
    const uint8_t *bytes = from;
    size_t at = 1;
    recipe->kind = nbytes > 0 ? (npyext_recipe_kind)bytes[0] : NPYEXT_RECIPE_CALC;
    for (recipe->narguments = 0; at < nbytes; recipe->narguments++) {
        if (recipe->narguments == NPYEXT_RECIPE_MAX_NARGUMENTS || nbytes - at < RECIPE_HEAD_NBYTES)
            return false;
        npyext_argument *argument = &recipe->arguments[recipe->narguments];
        uint64_t word = npyx_load_u64(bytes + at + 1, false);
        *argument = (npyext_argument){.type = bytes[at], .integer = (int64_t)word};
        at += RECIPE_HEAD_NBYTES;
        memcpy(&argument->real, &word, sizeof word);
        if (argument->type != SQLITE_TEXT && argument->type != SQLITE_BLOB)
            continue;
        if (word >= nbytes - at)
            return false;
        argument->bytes = (const char *)bytes + at;
        argument->nbytes = (size_t)word;
        at += (size_t)word + 1;
    }
    return true;
}

bool npyext_part_is_made(const npyext_part *part) {
    return part->recipe_nbytes > 0 && *(const uint8_t *)part->recipe != NPYEXT_RECIPE_RAW;
}
