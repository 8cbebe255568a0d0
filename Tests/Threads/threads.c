// Scripts/threads links it into the programs that ThreadSanitizer instruments, and into nothing else: it shows the
// sanitizer threads and locks that it would miss. A symbol of the program precedes a library's, so librdkafka calls
// these.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sanitizer/tsan_interface.h>
#include <stdint.h>
#include <stdlib.h>
#include <threads.h>

// 1. What librdkafka uses of C11's threads. ThreadSanitizer intercepts POSIX's alone, and crashes in a thread that it
// did not see start. glibc's C11 objects are POSIX's under other names.
_Static_assert(sizeof(mtx_t) >= sizeof(pthread_mutex_t) && sizeof(cnd_t) >= sizeof(pthread_cond_t), "glibc's layout");
_Static_assert(sizeof(thrd_t) == sizeof(pthread_t) && sizeof(once_flag) == sizeof(pthread_once_t), "glibc's layout");

static int result(int error) {
    switch (error) {
    case 0: return thrd_success;
    case ETIMEDOUT: return thrd_timedout;
    case ENOMEM: return thrd_nomem;
    default: return thrd_error;
    }
}

struct start {
    thrd_start_t function;
    void *argument;
};

static void *begin(void *pointer) {
    struct start start = *(struct start *)pointer;
    free(pointer);
    return (void *)(intptr_t)start.function(start.argument);
}

int thrd_create(thrd_t *thread, thrd_start_t function, void *argument) {
    struct start *start = malloc(sizeof *start);
    if (!start) return thrd_nomem;
    *start = (struct start){function, argument};
    int error = pthread_create(thread, NULL, begin, start);
    if (error) free(start);
    return result(error);
}

int thrd_join(thrd_t thread, int *value) {
    void *returned = NULL;
    int error = pthread_join(thread, &returned);
    if (!error && value) *value = (int)(intptr_t)returned;
    return result(error);
}

thrd_t thrd_current(void) { return pthread_self(); }

int mtx_init(mtx_t *mutex, int type) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, type & mtx_recursive ? PTHREAD_MUTEX_RECURSIVE : PTHREAD_MUTEX_NORMAL);
    int error = pthread_mutex_init((pthread_mutex_t *)mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
    return result(error);
}

void mtx_destroy(mtx_t *mutex) { pthread_mutex_destroy((pthread_mutex_t *)mutex); }
int mtx_lock(mtx_t *mutex) { return result(pthread_mutex_lock((pthread_mutex_t *)mutex)); }
int mtx_unlock(mtx_t *mutex) { return result(pthread_mutex_unlock((pthread_mutex_t *)mutex)); }

int cnd_init(cnd_t *condition) { return result(pthread_cond_init((pthread_cond_t *)condition, NULL)); }
void cnd_destroy(cnd_t *condition) { pthread_cond_destroy((pthread_cond_t *)condition); }
int cnd_signal(cnd_t *condition) { return result(pthread_cond_signal((pthread_cond_t *)condition)); }
int cnd_broadcast(cnd_t *condition) { return result(pthread_cond_broadcast((pthread_cond_t *)condition)); }
int cnd_wait(cnd_t *condition, mtx_t *mutex) {
    return result(pthread_cond_wait((pthread_cond_t *)condition, (pthread_mutex_t *)mutex));
}
int cnd_timedwait(cnd_t *condition, mtx_t *mutex, const struct timespec *deadline) {
    return result(pthread_cond_timedwait((pthread_cond_t *)condition, (pthread_mutex_t *)mutex, deadline));
}

void call_once(once_flag *flag, void (*function)(void)) { pthread_once((pthread_once_t *)flag, function); }

// 2. Swift's Mutex under contention. Without contention it is one atomic instruction in the caller, which is
// instrumented; otherwise the Synchronization library calls the kernel, which ThreadSanitizer does not see. These
// functions report it.
typedef __attribute__((swiftcall)) void lock_slow(uint32_t thread, __attribute__((swift_context)) void *mutex);
typedef __attribute__((swiftcall)) void unlock_slow(__attribute__((swift_context)) void *mutex);
lock_slow mutex_lock_slow __asm__("$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF");
unlock_slow mutex_unlock_slow __asm__("$s15Synchronization12_MutexHandleV11_unlockSlowyyF");

__attribute__((swiftcall)) void mutex_lock_slow(uint32_t thread, __attribute__((swift_context)) void *mutex) {
    lock_slow *next = (lock_slow *)dlsym(RTLD_NEXT, "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF");
    next(thread, mutex);
    __tsan_acquire(mutex);
}

__attribute__((swiftcall)) void mutex_unlock_slow(__attribute__((swift_context)) void *mutex) {
    unlock_slow *next = (unlock_slow *)dlsym(RTLD_NEXT, "$s15Synchronization12_MutexHandleV11_unlockSlowyyF");
    __tsan_release(mutex);
    next(mutex);
}

// 3. For the children of the tests, whose environment is not ours: names and lines in reports, of older accesses too.
const char *__tsan_default_options(void) { return "external_symbolizer_path=" SYMBOLIZER ":history_size=4"; }
