#include "policy.h"

#include "io/threads.h"
#include "text/span.h"

#include <stdlib.h>

static bool is_one(const char *name) {
    const char *value = getenv(name);
    return value != NULL && strcmp(value, "1") == 0;
}

static npyx_status read_root(npyext_policy *policy, npyx_host *host, npyx_error *error) {
    enum { SHOWN_NBYTES = 200 };
    const char *folder = getenv("NPYEXT_ROOT");
    if (folder == NULL)
        return NPYX_OK;
    if (folder[0] == '\0') /* somebody meant to confine paths */
        return npyx_refuse(error, "NPYEXT_ROOT is empty; name a folder, or unset it");
    npyx_status status = npyx_root_open(&policy->root, host, folder, error);
    if (status == NPYX_NOMEM)
        return status;
    if (status != NPYX_OK) {
        npyx_error reason = *error;
        return npyx_fail(error, status, -1, "NPYEXT_ROOT=%.*s %.200s; it must be a folder", SHOWN_NBYTES,
                         folder, reason.message);
    }
    policy->is_confined = true;
    host->root = &policy->root;
    return NPYX_OK;
}

static npyx_status read_nthreads(npyx_host *host, npyx_error *error) {
    enum { SHOWN_NBYTES = 40 };
    const char *text = getenv("NPYEXT_THREADS");
    uint64_t nthreads = 0;
    if (text == NULL || text[0] == '\0')
        return NPYX_OK;
    if (npyx_span_digits((npyx_span){text, strlen(text)}, &nthreads) != strlen(text))
        return npyx_refuse(error, "NPYEXT_THREADS=%.*s is not a number of threads; give 1 to %d, or unset it",
                           SHOWN_NBYTES, text, (int)NPYX_MAX_NTHREADS);
    host->nthreads = nthreads < NPYX_MAX_NTHREADS ? (int)nthreads : NPYX_MAX_NTHREADS;
    return NPYX_OK;
}

npyx_status npyext_policy_read(npyext_policy *policy, npyext_entry_point entry_point, npyx_host *host,
                               npyx_error *error) {
    *policy = (npyext_policy){.entry_point = entry_point};
    host->maps_files = is_one("NPYEXT_MMAP");
    NPYX_TRY(read_nthreads(host, error));
    if (entry_point == NPYEXT_ENTRY_BLOB) { /* even if a function forgets to refuse a path */
        policy->allows_views = true;
        host->root = &npyx_root_of_nothing;
        return NPYX_OK;
    }
    policy->allows_views = is_one("NPYEXT_VIEWS");
    NPYX_TRY(read_root(policy, host, error));
    policy->allows_remote = is_one("NPYEXT_REMOTE") || !(policy->is_confined || policy->allows_views);
    return NPYX_OK;
}

void npyext_policy_clear(npyext_policy *policy, npyx_host *host) {
    if (policy->is_confined)
        npyx_root_close(&policy->root, host);
    policy->is_confined = false;
    host->root = &npyx_root_of_nothing;
}

const char *npyext_entry_name(npyext_entry_point entry_point) {
    switch (entry_point) {
    case NPYEXT_ENTRY_READONLY: return "sqlite3_npyext_readonly_init";
    case NPYEXT_ENTRY_BLOB: return "sqlite3_npyext_blob_init";
    default: return "sqlite3_npyext_init";
    }
}

npyx_status npyext_policy_check_name(const npyext_policy *policy, const char *name, const char *wanted,
                                     npyx_error *error) {
    if (policy->entry_point != NPYEXT_ENTRY_BLOB)
        return NPYX_OK;
    return npyx_refuse(error, "%s names a file, and npyext was loaded by %s, which opens none; give %s", name,
                       npyext_entry_name(policy->entry_point), wanted);
}

npyx_status npyext_policy_check_remote(const npyext_policy *policy, npyx_error *error) {
    if (policy->allows_remote)
        return NPYX_OK;
    if (policy->entry_point == NPYEXT_ENTRY_BLOB)
        return npyx_refuse(error, "a URL is not read: npyext was loaded by %s, which opens nothing",
                           npyext_entry_name(policy->entry_point));
    return npyx_refuse(error, "a URL is not read, since %s is set; NPYEXT_REMOTE=1 allows both",
                       policy->is_confined ? "NPYEXT_ROOT" : "NPYEXT_VIEWS");
}

npyx_status npyext_policy_check_writing(const npyext_policy *policy, const char *what, npyx_error *error) {
    if (policy->entry_point == NPYEXT_ENTRY_ALL)
        return NPYX_OK;
    return npyx_refuse(error, "%s writes a file, and npyext was loaded by %s, which writes none", what,
                       npyext_entry_name(policy->entry_point));
}
