/*
 * Files elsewhere: what a URL names, read by the host.
 *
 * This codec opens no socket. The host answers three questions, each about many files at once, because an
 * answer takes a round trip however little is asked: which files match a pattern, how long they are and which
 * version of them is there, and what their bytes are. The version is noted when a file is first met, and
 * every question about bytes names it: the host refuses if the file is another by now, so bytes of two
 * versions never meet.
 *
 * Bytes that were read are kept in blocks, those used last, so that a header, a directory and lookups close
 * to each other cost one question. Everything happens in the thread of the host's statement.
 */
#ifndef NPYX_REMOTE_H
#define NPYX_REMOTE_H

#include "source.h"
#include "text/span.h"

typedef struct npyx_remote npyx_remote;

/* A part of a file that is asked for; it is inside the file, and not empty. */
typedef struct npyx_remote_range {
    int64_t file; /* its number: npyx_remote_url tells its URL */
    int64_t off;
    int64_t nbytes;
} npyx_remote_range;

/* What the host does. A failure is its own, in words that follow `URL: `; NPYX_KIND_CHANGED says that a file
 * is no longer the version that was asked for. */
typedef struct npyx_remote_ops {
    /* Calls npyx_remote_note or npyx_remote_note_failure for each of the files. */
    npyx_status (*info)(void *ctx, npyx_remote *remote, const int64_t *files, int64_t nfiles,
                        npyx_error *error);
    /* Calls npyx_remote_deliver once, with the bytes of all ranges in their order. */
    npyx_status (*read)(void *ctx, npyx_remote *remote, const npyx_remote_range *ranges, int64_t nranges,
                        npyx_error *error);
    /* Calls npyx_remote_found for each file that matches. */
    npyx_status (*glob)(void *ctx, npyx_remote *remote, const char *pattern, npyx_error *error);
    /* The most bytes that one read can return. */
    int64_t (*max_nbytes)(void *ctx);
} npyx_remote_ops;

/* What is known of the files elsewhere. ops and ctx must outlive it. */
npyx_status npyx_remote_new(npyx_host *host, const npyx_remote_ops *ops, void *ctx, npyx_remote **remote,
                            npyx_error *error);
/* Accepts NULL. Every source of it must be closed. */
void npyx_remote_free(npyx_remote *remote);

/* ---- for the host's functions ---- */

/* The URL of a file, NUL-terminated, and the version that is noted for it; valid until the next question. */
const char *npyx_remote_url(const npyx_remote *remote, int64_t file);
npyx_span npyx_remote_version(const npyx_remote *remote, int64_t file);

/* Notes what is there: nbytes and a text that is another for other contents. */
npyx_status npyx_remote_note(npyx_remote *remote, int64_t file, int64_t nbytes, npyx_span version,
                             npyx_error *error);
/* Notes why nothing is known of a file, in the host's words; a NULL reason: there is no such file. */
npyx_status npyx_remote_note_failure(npyx_remote *remote, int64_t file, const char *reason,
                                     npyx_error *error);

/* Takes what was read. NPYX_IO if it is not as much as was asked for. */
npyx_status npyx_remote_deliver(npyx_remote *remote, const uint8_t *bytes, size_t nbytes, npyx_error *error);

/* Takes a URL that matches a pattern; nbytes is -1 where the listing does not tell. */
npyx_status npyx_remote_found(npyx_remote *remote, const char *url, int64_t nbytes, npyx_span version,
                              npyx_error *error);

/* ---- reading ---- */

/* Whether a path is a URL: `scheme://…` (RFC 3986, section 3.1). A letter alone is a drive of Windows. */
bool npyx_path_is_url(const char *path);
/* How much of a URL messages may show: all up to its query, which may hold secrets. */
size_t npyx_url_shown_nbytes(const char *url);
/* Where its wildcards can be: after an IPv6 address in brackets, and before the query. */
npyx_span npyx_url_path(const char *url);

/* Opens the file, as npyx_source_open_file does. NPYX_NOT_FOUND, NPYX_IO. Fails if the host reads no URLs. */
npyx_status npyx_source_open_remote(npyx_host *host, const char *url, npyx_source **source,
                                    npyx_file_info *info, npyx_error *error);

/* What is noted of a file, or the host says now: its length, and a number that no other version of any file
 * has. What was noted is asked again after ten seconds. */
npyx_status npyx_remote_info(npyx_host *host, const char *url, npyx_file_info *info, npyx_error *error);

/* Some bytes of a file that will be wanted soon, as far as they exist. */
typedef struct npyx_remote_request {
    const char *url;
    int64_t off, nbytes;
    bool with_end; /* and its last bytes, where a zip has its directory */
} npyx_remote_request;

/* Asks in one call for what is not known yet of at most NPYX_REMOTE_AHEAD_NFILES files, and in another one
 * for these bytes of all of them. What fails is asked again when it is wanted. NPYX_NOMEM or
 * NPYX_INTERRUPTED. */
npyx_status npyx_remote_expect(npyx_host *host, const npyx_remote_request *requests, int64_t nrequests,
                               npyx_error *error);

/* Calls add for each URL that matches; its failure ends the search. */
npyx_status npyx_remote_glob(npyx_host *host, const char *pattern,
                             npyx_status (*add)(void *ctx, const char *url, size_t nbytes, npyx_error *error),
                             void *ctx, npyx_error *error);

#endif
