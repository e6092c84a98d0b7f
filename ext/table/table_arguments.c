/*
 * The arguments of CREATE VIRTUAL TABLE ... USING npy(...) or wds(...), which SQLite passes as they were
 * typed: a path, and `key = value`. Quotes are removed here; a list inside them has quotes of its own.
 */

#include "table.h"

const char *const npyext_table_argument_names[NPYEXT_TABLE_NARGUMENTS] = {
    [NPYEXT_TABLE_PATH] = "path",       [NPYEXT_TABLE_MEMBER] = "member",
    [NPYEXT_TABLE_MEMBER_IDX] = "idx",  [NPYEXT_TABLE_MEMBERS] = "members",
    [NPYEXT_TABLE_COLUMNS] = "columns", [NPYEXT_TABLE_SLICE] = "slice",
    [NPYEXT_TABLE_VIEW] = "view",       [NPYEXT_TABLE_MODE] = "mode",
    [NPYEXT_TABLE_DTYPE] = "dtype",     [NPYEXT_TABLE_SHAPE] = "shape",
    [NPYEXT_TABLE_METHOD] = "method",   [NPYEXT_TABLE_MAXCOUNT] = "maxcount",
    [NPYEXT_TABLE_MAXSIZE] = "maxsize",
};

static const char blanks[] = " \t\r\n\f";

npyx_status npyext_declaration_reserve(npyext_declaration *declaration, int narrays, int ncolumns,
                                       npyx_error *error) {
    npyx_arena *arena = &declaration->arena;
    declaration->arrays = npyx_arena_array(arena, narrays, sizeof declaration->arrays[0]);
    declaration->columns = npyx_arena_array(arena, ncolumns, sizeof declaration->columns[0]);
    NPYX_TRY(npyx_check_memory(declaration->arrays, error));
    return npyx_check_memory(declaration->columns, error);
}

/* Writes what is between the quotes that text begins with to out, NUL-terminated, with a doubled quote as
 * one. Returns the bytes read, quotes included; 0 if the closing quote is missing. */
static size_t read_quoted(const char *text, char *out) {
    const char quote = *text;
    const char *in = text + 1;
    while (*in != '\0') {
        if (*in == quote && in[1] != quote) {
            *out = '\0';
            return (size_t)(in + 1 - text);
        }
        in += *in == quote;
        *out++ = *in++;
    }
    return 0;
}

static void trim_end(char *text) {
    size_t nbytes = strlen(text);
    while (nbytes > 0 && strchr(blanks, text[nbytes - 1]) != NULL)
        text[--nbytes] = '\0';
}

/* The text that a raw value means; *is_bare: it has no quotes. */
static npyx_status argument_read_value(npyx_arena *arena, const char *raw, const char **value, bool *is_bare,
                                       npyx_error *error) {
    raw += strspn(raw, blanks);
    char *copy = npyx_arena_copy(arena, raw, strlen(raw));
    NPYX_TRY(npyx_check_memory(copy, error));
    *value = copy;
    *is_bare = *raw != '\'' && *raw != '"';
    if (*is_bare) {
        trim_end(copy);
        return NPYX_OK;
    }
    size_t nbytes = read_quoted(raw, copy);
    if (nbytes == 0 || raw[nbytes + strspn(raw + nbytes, blanks)] != '\0')
        return npyx_refuse(error, "%.*s is not a single quoted text", NPYX_SHOWN(raw, strlen(raw), 80));
    return NPYX_OK;
}

npyx_status npyext_table_parse_list(npyx_arena *arena, const char *text, const char ***items, int *nitems,
                                    npyx_error *error) {
    size_t capacity_nitems = 1;
    for (const char *c = text; *c != '\0'; c++)
        capacity_nitems += *c == ',';
    *nitems = 0;
    *items = npyx_arena_array(arena, (int64_t)capacity_nitems, sizeof(*items)[0]);
    NPYX_TRY(npyx_check_memory(*items, error));
    for (bool is_last = false; !is_last; text++) {
        text += strspn(text, blanks);
        bool is_quoted = *text == '"';
        char *item = npyx_arena_copy(arena, text, is_quoted ? strlen(text) : strcspn(text, ","));
        NPYX_TRY(npyx_check_memory(item, error));
        size_t nbytes = is_quoted ? read_quoted(text, item) : strlen(item);
        const char *after = text + nbytes + strspn(text + nbytes, blanks);
        if (is_quoted && (nbytes == 0 || (*after != ',' && *after != '\0')))
            return npyx_refuse(error, "in a list, %.*s is not a single quoted name",
                               NPYX_SHOWN(text, strlen(text), 80));
        if (!is_quoted)
            trim_end(item);
        (*items)[(*nitems)++] = item;
        text = after;
        is_last = *text == '\0';
    }
    return NPYX_OK;
}

/* The length of the key that a raw argument begins with; 0 if it is not `key = value`. *value is what follows
 * the `=`. */
static size_t find_key(const char *raw, const char **value) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    size_t nbytes = strspn(raw, letters);
    const char *after = raw + nbytes + strspn(raw + nbytes, blanks);
    *value = after + 1;
    return *after == '=' ? nbytes : 0;
}

/* path and idx have no key. */
static npyx_status find_argument(const npyext_table_kind *kind, const char *raw, size_t key_nbytes,
                                 npyext_table_argument *argument, npyx_error *error) {
    for (int i = NPYEXT_TABLE_MEMBER; i < NPYEXT_TABLE_NARGUMENTS; i++) {
        const char *name = npyext_table_argument_names[i];
        *argument = (npyext_table_argument)i;
        bool is_taken = (kind->arguments >> i & 1) != 0 && i != NPYEXT_TABLE_MEMBER_IDX;
        if (is_taken && strlen(name) == key_nbytes && sqlite3_strnicmp(raw, name, (int)key_nbytes) == 0)
            return NPYX_OK;
    }
    return npyx_refuse(error, "unknown argument '%.*s' (known: %s; a path with '=' needs quotes)",
                       NPYX_SHOWN(raw, key_nbytes, 80), kind->arguments_text);
}

static npyx_status set_argument(npyext_declaration *declaration, npyext_table_argument argument,
                                const char *value, bool is_bare, npyx_error *error) {
    bool is_number = is_bare && *value != '\0' && value[strspn(value, "0123456789")] == '\0';
    if (argument == NPYEXT_TABLE_MEMBER && is_number)
        argument = NPYEXT_TABLE_MEMBER_IDX;
    if (argument == NPYEXT_TABLE_PATH && declaration->arguments[argument] != NULL)
        return npyx_refuse(error, "%.*s is a second path (a text with a comma in it needs quotes)",
                           NPYX_SHOWN(value, strlen(value), 80));
    if (declaration->arguments[argument] != NULL)
        return npyx_refuse(error, "%s is given twice, the second time as %.*s",
                           npyext_table_argument_names[argument], NPYX_SHOWN(value, strlen(value), 80));
    if (*value != '\0') /* an empty text counts as not given */
        declaration->arguments[argument] = value;
    return NPYX_OK;
}

bool npyext_table_is_writing(const npyext_declaration *declaration) {
    const char *mode = declaration->arguments[NPYEXT_TABLE_MODE];
    return mode != NULL && strcmp(mode, "r") != 0;
}

bool npyext_table_is_editing(const npyext_declaration *declaration) {
    const char *mode = declaration->arguments[NPYEXT_TABLE_MODE];
    return mode != NULL && strcmp(mode, "r+") == 0;
}

static npyx_status check_mode(const npyext_declaration *declaration, const npyext_table_kind *kind,
                              npyx_error *error) {
    const char *const *arguments = declaration->arguments, *mode = arguments[NPYEXT_TABLE_MODE];
    bool writes = npyext_table_is_writing(declaration);
    if (writes && strcmp(mode, "r+") != 0 && strcmp(mode, "w+") != 0 && strcmp(mode, "a") != 0)
        return npyx_refuse(error,
                           "unknown mode '%.*s': 'r' reads, 'r+' changes rows of a .npy, 'w+' writes a new "
                           "file, 'a' adds to one",
                           NPYX_SHOWN(mode, strlen(mode), 80));
    if (npyext_table_is_editing(declaration) && kind->editing_example == NULL)
        return npyx_refuse(
            error,
            "no table of this kind changes existing samples; 'a' adds some, and 'w+' writes a new set");
    return NPYX_OK;
}

static npyx_status parse_argument(npyext_declaration *declaration, const npyext_table_kind *kind,
                                  const char *raw, npyx_error *error) {
    npyext_table_argument argument = NPYEXT_TABLE_PATH;
    const char *text = raw + strspn(raw, blanks), *after_key = NULL, *value = NULL;
    bool is_bare = false;
    size_t key_nbytes = find_key(text, &after_key);
    if (key_nbytes > 0) {
        NPYX_TRY(find_argument(kind, text, key_nbytes, &argument, error));
        text = after_key;
    }
    NPYX_TRY(argument_read_value(&declaration->arena, text, &value, &is_bare, error));
    return set_argument(declaration, argument, value, is_bare, error);
}

npyx_status npyext_table_parse_arguments(npyext_declaration *declaration, const npyext_table_kind *kind,
                                         int nraw, const char *const *raw, npyx_error *error) {
    for (int i = 0; i < nraw; i++)
        NPYX_TRY(parse_argument(declaration, kind, raw[i], error));
    if (declaration->arguments[NPYEXT_TABLE_PATH] == NULL)
        return npyx_refuse(error, "a table needs a path, as in CREATE VIRTUAL TABLE t USING %s(%s)",
                           kind->module, kind->example);
    NPYX_TRY(check_mode(declaration, kind, error));
    return kind->check == NULL ? NPYX_OK : kind->check(declaration, error);
}
