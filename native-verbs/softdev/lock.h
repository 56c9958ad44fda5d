/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mutexes and condition variables of the device begin as zeros, as everything in the objects that hold them: in glibc
 * and musl that makes them initialised, and they own nothing that would have to be destroyed.
 *
 * HOLD_LOCK(&mutex) locks a mutex until the enclosing block ends, by whatever way. A function that must unlock earlier
 * calls pthread_mutex_lock() and pthread_mutex_unlock() itself.
 */
#ifndef SOFTDEV_LOCK_H
#define SOFTDEV_LOCK_H

#include <pthread.h>

static inline pthread_mutex_t *lock_acquire(pthread_mutex_t *mutex)
{
	pthread_mutex_lock(mutex);
	return mutex;
}

static inline void lock_release(pthread_mutex_t *const *mutex)
{
	pthread_mutex_unlock(*mutex);
}

#define HOLD_LOCK(mutex) HOLD_LOCK_IN(mutex, __LINE__)
#define HOLD_LOCK_IN(mutex, line) HOLD_LOCK_AS(mutex, line)
#define HOLD_LOCK_AS(mutex, line)                                                                                      \
	__attribute__((cleanup(lock_release), unused)) pthread_mutex_t *const lock_##line = lock_acquire(mutex)

#endif
