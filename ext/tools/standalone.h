/*
 * Included before everything else in the self-contained build (`make npyext-standalone`), and only there.
 *
 * The linker binds a call to the newest version of a function in the building machine's glibc; a machine with
 * an older glibc then refuses to load the library. What the code calls has been the same since 2.17 except
 * for names: functions that moved into libc in 2.34; functions of floats, which set no errno since 2.27 to
 * 2.38; stat, which was an inline call of __xstat before 2.33; and renameat2, which was a system call without
 * a function before 2.28. So the old names are requested here, which every newer glibc keeps.
 * tests/packaging/test_packaging.py checks that 2.17 is enough. Processors and C libraries other than
 * x86-64's glibc use what they have.
 */
#ifndef NPYEXT_STANDALONE_H
#define NPYEXT_STANDALONE_H

#include <features.h>

#if defined(__GLIBC__) && defined(__x86_64__) && defined(__LP64__)

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

__asm__(".symver pthread_create,pthread_create@GLIBC_2.2.5");
__asm__(".symver pthread_join,pthread_join@GLIBC_2.2.5");
__asm__(".symver dlopen,dlopen@GLIBC_2.2.5");
__asm__(".symver dlsym,dlsym@GLIBC_2.2.5");
__asm__(".symver dlerror,dlerror@GLIBC_2.2.5");
__asm__(".symver dladdr,dladdr@GLIBC_2.2.5");
__asm__(".symver pthread_sigmask,pthread_sigmask@GLIBC_2.2.5");
__asm__(".symver exp,exp@GLIBC_2.2.5");
__asm__(".symver expf,expf@GLIBC_2.2.5");
__asm__(".symver fmod,fmod@GLIBC_2.2.5");
__asm__(".symver fmodf,fmodf@GLIBC_2.2.5");
__asm__(".symver hypot,hypot@GLIBC_2.2.5");
__asm__(".symver hypotf,hypotf@GLIBC_2.2.5");
__asm__(".symver log,log@GLIBC_2.2.5");
__asm__(".symver logf,logf@GLIBC_2.2.5");
__asm__(".symver log2,log2@GLIBC_2.2.5");
__asm__(".symver log2f,log2f@GLIBC_2.2.5");
__asm__(".symver pow,pow@GLIBC_2.2.5");
__asm__(".symver powf,powf@GLIBC_2.2.5");

/* The number of struct stat's layout that __xstat is asked for (_STAT_VER_LINUX). */
enum { NPYEXT_STAT_LAYOUT = 1 };

int npyext_xstat(int layout, const char *path, struct stat *found);
int npyext_fxstat(int layout, int file, struct stat *found);
int npyext_fxstatat(int layout, int folder, const char *path, struct stat *found, int flags);
__asm__(".symver npyext_xstat,__xstat@GLIBC_2.2.5");
__asm__(".symver npyext_fxstat,__fxstat@GLIBC_2.2.5");
__asm__(".symver npyext_fxstatat,__fxstatat@GLIBC_2.4");

#define stat(path, found)                   npyext_xstat(NPYEXT_STAT_LAYOUT, path, found)
#define fstat(file, found)                  npyext_fxstat(NPYEXT_STAT_LAYOUT, file, found)
#define fstatat(folder, path, found, flags) npyext_fxstatat(NPYEXT_STAT_LAYOUT, folder, path, found, flags)

#define renameat2(from, one, to, other, flags) (int)syscall(SYS_renameat2, from, one, to, other, flags)

#endif

#endif
