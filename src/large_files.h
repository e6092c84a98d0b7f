/*
 * To be included before anything else by a source that calls open, stat, pread or readdir: on a 32-bit host
 * they then know files beyond 2 GiB, inode numbers of 64 bits and times beyond 2038.
 */
#ifndef NPYX_LARGE_FILES_H
#define NPYX_LARGE_FILES_H

#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif
#ifndef _TIME_BITS
#define _TIME_BITS 64
#endif

#endif
