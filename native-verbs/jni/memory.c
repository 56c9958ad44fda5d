/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "natives.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define HUGE_PAGE_BYTES ((size_t)2 << 20)

/* Headers of the oldest systems that we build on do not have them. */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MAP_HUGE_2MB
#define MAP_HUGE_2MB (21 << 26)
#endif

static int open_regular_file(const char *path, uint64_t *size)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct statx status;
	int error;

	if (fd < 0)
		return -1;
	/* fstat() would need a newer libc than we ask for. */
	if (statx(fd, "", AT_EMPTY_PATH, STATX_TYPE | STATX_SIZE, &status) == 0) {
		if (S_ISREG(status.stx_mode)) {
			*size = status.stx_size;
			return fd;
		}
		errno = EINVAL;
	}
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

/* False and ENAMETOOLONG if it does not fit. */
static bool take_path(JNIEnv *env, jbyteArray java_path, char path[PATH_MAX])
{
	jsize length = (*env)->GetArrayLength(env, java_path);

	if (length >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return false;
	}
	(*env)->GetByteArrayRegion(env, java_path, 0, length, (jbyte *)path);
	path[length] = '\0';
	return true;
}

/* -1 and EPERM unless it is a regular file of this user that has one name. Takes over the descriptor. */
static int require_owned(int fd, uid_t uid)
{
	struct statx status;

	if (fd < 0)
		return -1;
	if (statx(fd, "", AT_EMPTY_PATH, STATX_TYPE | STATX_UID | STATX_NLINK, &status) == 0 && S_ISREG(status.stx_mode) &&
	    status.stx_uid == uid && status.stx_nlink == 1)
		return fd;
	close(fd);
	errno = EPERM;
	return -1;
}

/* Opens the folder that a path leads to from another one, by way of no symbolic link. Takes over the descriptor. */
static int open_below(int fd, char *path)
{
	char *rest = NULL;
	int next, error;

	for (char *folder = strtok_r(path, "/", &rest); fd >= 0 && folder; folder = strtok_r(NULL, "/", &rest)) {
		next = openat(fd, folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		error = errno;
		close(fd);
		errno = error;
		fd = next;
	}
	return fd;
}

static jint open_owned_file(JNIEnv *env, jclass natives, jbyteArray java_folder, jbyteArray java_subfolder,
			    jbyteArray java_name, jint uid)
{
	char folder[PATH_MAX], subfolder[PATH_MAX], name[PATH_MAX];
	int folder_fd = -1, fd = -1, error;

	(void)natives;
	if (take_path(env, java_folder, folder) && take_path(env, java_subfolder, subfolder) &&
	    take_path(env, java_name, name))
		folder_fd = open_below(open(folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), subfolder);
	/* Without O_NONBLOCK the open of a pipe would wait for its writer. */
	if (folder_fd >= 0)
		fd = require_owned(openat(folder_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), (uid_t)uid);
	error = errno;
	if (folder_fd >= 0)
		close(folder_fd);
	if (fd < 0)
		throw_verbs(env, "openat", error);
	return fd;
}

static jint open_file(JNIEnv *env, jclass natives, jbyteArray java_path, jlongArray out)
{
	char path[PATH_MAX];
	void *address = NULL;
	uint64_t size = 0;
	jlong values[2];
	int fd;

	(void)natives;
	fd = take_path(env, java_path, path) ? open_regular_file(path, &size) : -1;
	if (fd < 0) {
		throw_verbs(env, "open", errno);
		return -1;
	}
	if (size > 0) {
		address = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (address == MAP_FAILED) {
			throw_verbs(env, "mmap", errno);
			close(fd);
			return -1;
		}
	}
	values[0] = to_handle(address);
	values[1] = (jlong)size;
	(*env)->SetLongArrayRegion(env, out, 0, ARRAY_SIZE(values), values);
	return fd;
}

static void close_file(JNIEnv *env, jclass natives, jint fd)
{
	(void)env;
	(void)natives;
	close(fd);
}

/*
 * Memory of the kernel's pool of 2 MiB pages, 0 if that has none for us. It is populated here: a page that a control
 * group refuses later would be a SIGBUS. Kernels before 5.14 cannot do that, and go without.
 */
static jlong map_huge_pages(JNIEnv *env, jclass natives, jlong size)
{
	void *address = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_HUGE_2MB, -1, 0);

	(void)env;
	(void)natives;
	if (address == MAP_FAILED)
		return 0;
	if (madvise(address, (size_t)size, MADV_POPULATE_WRITE) != 0) {
		munmap(address, (size_t)size);
		return 0;
	}
	return to_handle(address);
}

static void *map_anonymous(size_t size)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/*
 * Memory that begins where a huge page does, so that it can have one from its beginning on. Linux aligns mappings by itself only
 * since 6.7, and only those of whole huge pages. An edge that cannot be unmapped costs nothing but addresses.
 */
static void *map_aligned(size_t size)
{
	char *whole = map_anonymous(size + HUGE_PAGE_BYTES);
	size_t before;

	if (whole == MAP_FAILED)
		return MAP_FAILED;
	before = -(uintptr_t)whole & (HUGE_PAGE_BYTES - 1);
	if (before > 0)
		munmap(whole, before);
	munmap(whole + before + size, HUGE_PAGE_BYTES - before);
	return whole + before;
}

static jlong map_memory(JNIEnv *env, jclass natives, jlong size, jboolean huge_pages)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t length = ((size_t)size + page - 1) & ~(page - 1);
	void *address = huge_pages ? map_aligned(length) : map_anonymous(length);

	(void)natives;
	if (address == MAP_FAILED) {
		throw_verbs(env, "mmap", errno);
		return 0;
	}
	/* Advice only: a kernel without huge pages refuses it and nothing is lost. */
	if (huge_pages)
		(void)madvise(address, (size_t)size, MADV_HUGEPAGE);
	return to_handle(address);
}

static jlong page_bytes(JNIEnv *env, jclass natives)
{
	(void)env;
	(void)natives;
	return sysconf(_SC_PAGESIZE);
}

static jint unmap_memory(JNIEnv *env, jclass natives, jlong address, jlong size)
{
	(void)env;
	(void)natives;
	return munmap(to_pointer(address), (size_t)size) == 0 ? 0 : errno;
}

static jobject direct_buffer(JNIEnv *env, jclass natives, jlong address, jint length)
{
	(void)natives;
	return (*env)->NewDirectByteBuffer(env, to_pointer(address), length);
}

static jlong buffer_address(JNIEnv *env, jclass natives, jobject buffer)
{
	(void)natives;
	return to_handle((*env)->GetDirectBufferAddress(env, buffer));
}

static const JNINativeMethod natives_methods[] = {
	NATIVE("openFile", "([B[J)I", open_file),
	NATIVE("openOwnedFile", "([B[B[BI)I", open_owned_file),
	NATIVE("closeFile", "(I)V", close_file),
	NATIVE("mapMemory", "(JZ)J", map_memory),
	NATIVE("mapHugePages", "(J)J", map_huge_pages),
	NATIVE("pageBytes", "()J", page_bytes),
	NATIVE("unmapMemory", "(JJ)I", unmap_memory),
	NATIVE("directBuffer", "(JI)Ljava/nio/ByteBuffer;", direct_buffer),
	NATIVE("bufferAddress", "(Ljava/nio/ByteBuffer;)J", buffer_address),
};

const struct native_methods memory_natives = {natives_methods, ARRAY_SIZE(natives_methods)};
