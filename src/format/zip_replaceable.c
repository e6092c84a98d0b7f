/* Which zips may be replaced: those that a writer of arrays may have made. */
#include "io/sink.h"
#include "zip_directory.h"
#include "zip_write.h"

/* What this codec writes has a .npy in it. torch.save's files, and models in their form, have a pickle of
 * this name, and may have .npy entries beside it. */
static npyx_status check_records(const npyx_zip_directory *directory, npyx_error *error) {
    bool has_npy = directory->nrecords == 0;
    for (int64_t i = 0; i < directory->nrecords; i++) {
        static const char pickle[] = "data.pkl";
        enum { PICKLE_NBYTES = sizeof pickle - 1 };
        const npyx_zip_record *record = &directory->records[i];
        size_t nbytes = record->filename_nbytes;
        bool is_pickle = nbytes >= PICKLE_NBYTES &&
                         memcmp(record->filename + nbytes - PICKLE_NBYTES, pickle, PICKLE_NBYTES) == 0;
        if (is_pickle && (nbytes == PICKLE_NBYTES || record->filename[nbytes - PICKLE_NBYTES - 1] == '/'))
            return npyx_refuse(error, "is a PyTorch file, which is not replaced; remove it first");
        has_npy = has_npy || npyx_zip_array_name_nbytes(record) < nbytes;
    }
    return has_npy
               ? NPYX_OK
               : npyx_refuse(error, "is a zip without a .npy in it, and is not replaced; remove it first");
}

npyx_status npyx_zip_check_replaceable(npyx_host *host, int descriptor, int64_t nbytes, npyx_error *error) {
    npyx_zip_directory directory = {.names.host = host};
    npyx_sink *sink = NULL;
    npyx_source *source = NULL;
    npyx_status status = npyx_sink_open_file(host, descriptor, nbytes, &sink, error);
    if (status == NPYX_OK)
        status = npyx_source_open_sink(sink, &source, error);
    if (status == NPYX_OK)
        status = npyx_zip_directory_read(source, false, &directory, error);
    if (status == NPYX_CORRUPT || status == NPYX_UNSUPPORTED)
        status = npyx_refuse(error, "is a damaged zip, and is not replaced; remove it first");
    else if (status == NPYX_OK)
        status = check_records(&directory, error);
    npyx_zip_directory_clear(&directory);
    npyx_source_close(source);
    npyx_sink_close(sink);
    return status;
}
