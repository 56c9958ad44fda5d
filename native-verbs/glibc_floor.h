/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Force-included into every object of the shipped libraries: binds the libc functions whose
 * default version on the build host is newer than GLIBC_2.28 to the versions that glibc 2.28
 * (RHEL 8) already has. A function that has no such older version must not be used; use statx()
 * in place of stat()/fstat(), and CLOCK_MONOTONIC condition variables in place of *_clockwait().
 */
#ifndef SHUFFLE_RDMA_GLIBC_FLOOR_H
#define SHUFFLE_RDMA_GLIBC_FLOOR_H

#if defined(__x86_64__)
#define GLIBC_BASE "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define GLIBC_BASE "GLIBC_2.17"
#endif

#ifdef GLIBC_BASE
#define BIND_TO_BASE(function) __asm__(".symver " #function "," #function "@" GLIBC_BASE)

BIND_TO_BASE(pthread_create);
BIND_TO_BASE(pthread_join);
BIND_TO_BASE(pthread_detach);
BIND_TO_BASE(pthread_kill);
BIND_TO_BASE(pthread_testcancel);
BIND_TO_BASE(pthread_attr_setstacksize);
BIND_TO_BASE(pthread_once);
BIND_TO_BASE(pthread_sigmask);
BIND_TO_BASE(pthread_mutex_trylock);
BIND_TO_BASE(pthread_mutexattr_settype);
BIND_TO_BASE(pthread_mutexattr_init);
BIND_TO_BASE(pthread_mutexattr_destroy);
BIND_TO_BASE(pthread_mutexattr_setpshared);
BIND_TO_BASE(pthread_rwlock_rdlock);
BIND_TO_BASE(pthread_rwlock_wrlock);
BIND_TO_BASE(pthread_rwlock_unlock);
BIND_TO_BASE(pthread_rwlock_init);
BIND_TO_BASE(pthread_rwlock_destroy);
BIND_TO_BASE(pthread_key_create);
BIND_TO_BASE(pthread_getspecific);
BIND_TO_BASE(pthread_setspecific);
BIND_TO_BASE(sem_init);
BIND_TO_BASE(sem_destroy);
BIND_TO_BASE(sem_post);
BIND_TO_BASE(sem_wait);
BIND_TO_BASE(sem_trywait);
BIND_TO_BASE(sem_timedwait);
BIND_TO_BASE(dlopen);
BIND_TO_BASE(dlsym);
BIND_TO_BASE(dlvsym);
BIND_TO_BASE(dlclose);
BIND_TO_BASE(dlerror);

/* The headers of glibc 2.38 and later put these in place of the plain ones under _GNU_SOURCE. */
#define BIND_ISOC23(function, plain) __asm__(".symver __isoc23_" #function "," plain)

BIND_ISOC23(strtol, "strtol@" GLIBC_BASE);
BIND_ISOC23(strtoul, "strtoul@" GLIBC_BASE);
BIND_ISOC23(strtoll, "strtoll@" GLIBC_BASE);
BIND_ISOC23(strtoull, "strtoull@" GLIBC_BASE);

#ifdef __x86_64__
BIND_ISOC23(sscanf, "__isoc99_sscanf@GLIBC_2.7");
__asm__(".symver pthread_setname_np,pthread_setname_np@GLIBC_2.12");
__asm__(".symver pthread_mutexattr_setrobust,pthread_mutexattr_setrobust@GLIBC_2.12");
__asm__(".symver pthread_condattr_setclock,pthread_condattr_setclock@GLIBC_2.3.3");
/* What pthread_cleanup_push() expands to. */
__asm__(".symver __pthread_register_cancel,__pthread_register_cancel@GLIBC_2.3.3");
__asm__(".symver __pthread_unregister_cancel,__pthread_unregister_cancel@GLIBC_2.3.3");
__asm__(".symver __pthread_unwind_next,__pthread_unwind_next@GLIBC_2.3.3");
#else
BIND_ISOC23(sscanf, "__isoc99_sscanf@" GLIBC_BASE);
BIND_TO_BASE(pthread_setname_np);
BIND_TO_BASE(pthread_mutexattr_setrobust);
BIND_TO_BASE(pthread_condattr_setclock);
BIND_TO_BASE(__pthread_register_cancel);
BIND_TO_BASE(__pthread_unregister_cancel);
BIND_TO_BASE(__pthread_unwind_next);
#endif
#endif

#endif
