/*
 * NumPy's arrays in pickles, one after the other in a file: pickle.dump, pandas' to_pickle, joblib.dump. Long
 * arrays are read where they are in the file (pickle.h).
 */
#include "archive_found_private.h"
#include "io/first_bytes.h"

static npyx_status pickled_is_another(npyx_source *source, int64_t off, const npyx_pickle_rest *rest,
                                      bool *is_another, npyx_error *error) {
    uint8_t head[NPYX_PICKLE_HEAD_NBYTES];
    size_t head_nbytes = (size_t)(rest->end - rest->next);
    *is_another = npyx_begins_pickle(rest->next, head_nbytes);
    if (*is_another || head_nbytes >= sizeof head)
        return NPYX_OK;
    NPYX_TRY(npyx_source_read(source, off, head, sizeof head, &head_nbytes, error));
    *is_another = npyx_begins_pickle(head, head_nbytes);
    return NPYX_OK;
}

/* pickle.load, called again and again. What is no pickle after the first one ends the file, as for Python. */
static npyx_status pickled_learn(npyx_found_archive *archive, npyx_error *error) {
    npyx_source *source = archive->base.source;
    npyx_budget budget = npyx_budget_of_none(source->host);
    npyx_pickle_rest rest = {0};
    const npyx_pickle_options options = {.is_file = true, .is_joblib = true, .rest = &rest};
    int64_t off = 0;
    bool is_another = true;
    while (is_another) {
        npyx_object *root;
        NPYX_TRY(npyx_pickle_read(&archive->arena, &budget, source, off, options, &root, &off, error));
        NPYX_TRY(npyx_found_add(archive, &budget, root, "", error));
        NPYX_TRY(pickled_is_another(source, off, &rest, &is_another, error));
    }
    return NPYX_OK;
}

static const npyx_found_form pickled_form = {.learn = pickled_learn};

npyx_status npyx_archive_pickle_open(npyx_source *source, bool is_inflated, npyx_archive **archive,
                                     npyx_error *error) {
    npyx_found_archive *made = npyx_found_make(source, sizeof *made, NPYX_FORMAT_PICKLE, &pickled_form);
    NPYX_TRY(npyx_check_memory(made, error));
    made->base.is_inflated = is_inflated;
    *archive = &made->base;
    return NPYX_OK;
}
