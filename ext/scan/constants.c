#include "constants.h"

typedef struct npyext_constant {
    npyx_comparison comparison;
    bool is_blob;
    size_t text_off, text_nbytes;
} npyext_constant;

/* on_error is about files, and this is not: it ends every query. */
#define constants_fail(error, ...) npyx_fail_as((error), NPYX_KIND_QUESTION, NPYX_INVALID, -1, __VA_ARGS__)

typedef enum constants_fit { FITS, FITS_NEITHER_WAY, FITS_NOT } constants_fit;

void npyext_constants_init(npyext_constants *constants, npyx_host *host) {
    constants->list = constants->texts = (npyx_buffer){.host = host};
}

void npyext_constants_clear(npyext_constants *constants) {
    npyx_buffer_clear(&constants->list);
    npyx_buffer_clear(&constants->texts);
}

/* ---- of a request ---- */

static void constants_add(npyext_constants *constants, npyx_comparison comparison, sqlite3_value *value) {
    npyext_constant constant = {.comparison = comparison,
                                .is_blob = sqlite3_value_type(value) == SQLITE_BLOB,
                                .text_off = constants->texts.nbytes};
    const char *text = constant.is_blob ? NULL : (const char *)sqlite3_value_text(value);
    constant.text_nbytes = (size_t)sqlite3_value_bytes(value);
    if (text != NULL)
        npyx_buffer_append(&constants->texts, text, constant.text_nbytes);
    npyx_buffer_append(&constants->list, &constant, sizeof constant);
}

/* The texts of an IN, but of none so long that nobody has written it: that comes from a table. So may numbers
 * and BLOBs. */
static void constants_add_list(npyext_constants *constants, sqlite3_value *list) {
    enum { NVALUES_MOST = 100 };
    size_t list_nbytes = constants->list.nbytes;
    sqlite3_value *value = NULL;
    int nvalues = 0, code = sqlite3_vtab_in_first(list, &value);
    for (; code == SQLITE_OK && value != NULL && nvalues < NVALUES_MOST;
         code = sqlite3_vtab_in_next(list, &value), nvalues++) {
        if (sqlite3_value_type(value) == SQLITE_TEXT)
            constants_add(constants, NPYX_EQUAL, value);
    }
    if (nvalues == NVALUES_MOST)
        constants->list.nbytes = list_nbytes;
}

static npyx_status constants_refuse_number(const npyext_column *column, sqlite3_value *value,
                                           npyx_error *error) {
    return constants_fail(
        error,
        "%.*s is a number, and is compared with a BLOB of %d bytes. Python's sqlite3 binds a "
        "NumPy scalar as a BLOB: bind int(x), or call npyext.register_adapters() first",
        (int)strcspn(column->declaration, " "), column->declaration, sqlite3_value_bytes(value));
}

/* Passes over what is no constant, and what fits everything. */
static npyx_status constants_take_term(npyext_constants *constants, const npyext_column *column,
                                       bool is_value, const npyext_term *term, sqlite3_value *value,
                                       npyx_error *error) {
    int type = sqlite3_value_type(value);
    if (term->op == NPYEXT_OP_IN) {
        if (is_value)
            constants_add_list(constants, value);
        return NPYX_OK;
    }
    if ((type != SQLITE_BLOB && (type != SQLITE_TEXT || !is_value)) ||
        (!term->is_literal && !sqlite3_value_frombind(value)))
        return NPYX_OK;
    if (!is_value) /* row numbers, coordinates, and the parts of complex numbers */
        return constants_refuse_number(column, value, error);
    npyx_comparison comparison = npyext_operator_of(term->op)->comparison;
    if (comparison < NPYX_IS_NULL)
        constants_add(constants, comparison, value);
    return NPYX_OK;
}

npyx_status npyext_constants_take(npyext_constants *constants, const npyext_request *request,
                                  const npyext_plan *plan, int value_column, npyx_error *error) {
    npyx_buffer_reset(&constants->list);
    npyx_buffer_reset(&constants->texts);
    constants->has_met = false;
    constants->refusal.status = NPYX_OK;
    for (int i = 0; i < plan->nterms; i++) {
        const npyext_term *term = &plan->terms[i];
        if (!term->is_judged)
            continue;
        const npyext_column *column = &request->vtab->function->columns[term->column];
        NPYX_TRY(constants_take_term(constants, column, term->column == value_column, term, request->argv[i],
                                     error));
    }
    NPYX_TRY(npyx_buffer_check(&constants->texts, error));
    return npyx_buffer_check(&constants->list, error);
}

/* ---- of an array ---- */

static npyx_status constants_refuse_date(const npyx_dtype *dtype, const char *text, size_t nbytes,
                                         npyx_error *error) {
    char example[NPYX_DATETIME_TEXT_NBYTES];
    size_t example_nbytes = 0;
    int64_t count = 0;
    npyx_error unused;
    npyx_status status = npyx_datetime_parse(text, nbytes, dtype->unit, dtype->multiple, &count, &unused);
    bool is_date = status == NPYX_OK && count != NPYX_NAT;
    NPYX_TRY(npyx_datetime_text(is_date ? count : 0, dtype->unit, dtype->multiple, example, &example_nbytes,
                                error));
    const char *name = npyx_dtype_shown(dtype).name;
    if (is_date)
        return constants_fail(error,
                              "dates of %s are texts with all their digits: write '%.*s' instead of '%.*s'",
                              name, (int)example_nbytes, example, NPYX_SHOWN(text, nbytes, 60));
    return constants_fail(error, "dates of %s are texts such as '%.*s', and '%.*s' is not one", name,
                          (int)example_nbytes, example, NPYX_SHOWN(text, nbytes, 60));
}

static constants_fit constants_judge_text(const npyext_constant *constant, const npyx_dtype *dtype,
                                          const char *text, npyx_error *error) {
    if (dtype->type != NPYX_DATETIME || dtype->unit == NPYX_UNIT_GENERIC)
        return npyx_dtype_is_real(dtype) ? FITS_NEITHER_WAY : FITS;
    npyx_datetime_form form = npyx_datetime_form_of(text, constant->text_nbytes, dtype->unit);
    /* `>=` and `<` mean the same of texts as of dates where the text is the beginning of one */
    bool is_lower_end = constant->comparison == NPYX_GREATER_EQUAL || constant->comparison == NPYX_LESS;
    if (form == NPYX_DATETIME_WHOLE || (form == NPYX_DATETIME_BEGINNING && is_lower_end))
        return FITS;
    (void)constants_refuse_date(dtype, text, constant->text_nbytes, error);
    return FITS_NOT;
}

static constants_fit constants_judge_blob(const npyext_constant *constant, const npyx_dtype *dtype,
                                          npyx_error *error) {
    if (!npyx_dtype_is_real(dtype) && !npyx_type_is_date(dtype->type))
        return FITS;
    (void)constants_fail(
        error,
        "value is %s, and is compared with a BLOB of %zu bytes. Python's sqlite3 binds a NumPy "
        "scalar as a BLOB: bind x.item(), or call npyext.register_adapters() first",
        npyx_dtype_shown(dtype).name, constant->text_nbytes);
    return FITS_NOT;
}

/* Of a BLOB only the length is kept. */
static const char *constants_text(const npyext_constants *constants, const npyext_constant *constant) {
    return constant->text_nbytes == 0 ? "" : constants->texts.bytes + constant->text_off;
}

npyx_status npyext_constants_check(npyext_constants *constants, const npyx_dtype *dtype, bool is_json,
                                   bool is_only, npyx_error *error) {
    const npyext_constant *list = (const npyext_constant *)(const void *)constants->list.bytes;
    size_t count = constants->list.nbytes / sizeof *list;
    if (count == 0)
        return NPYX_OK;
    constants_fit fit = is_json ? FITS : FITS_NEITHER_WAY;
    for (size_t i = 0; i < count && !is_json && fit != FITS_NOT; i++) {
        constants_fit one =
            list[i].is_blob
                ? constants_judge_blob(&list[i], dtype, error)
                : constants_judge_text(&list[i], dtype, constants_text(constants, &list[i]), error);
        if (one != FITS_NEITHER_WAY)
            fit = one;
    }
    if (fit == FITS_NOT && is_only)
        return error->status;
    if (fit == FITS_NOT && constants->refusal.status == NPYX_OK)
        constants->refusal = *error;
    constants->has_met |= fit == FITS;
    return NPYX_OK;
}

npyx_status npyext_constants_end(npyext_constants *constants, npyx_error *error) {
    if (constants->refusal.status == NPYX_OK || constants->has_met)
        return NPYX_OK;
    *error = constants->refusal;
    constants->refusal.status = NPYX_OK;
    return error->status;
}
