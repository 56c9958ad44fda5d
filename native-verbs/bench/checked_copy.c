// SPDX-License-Identifier: Apache-2.0
/*
 * Copies blocks by one system call each and takes the CRC32C of each: the least that a checked fetch on one host can
 * cost. The calls are process_vm_readv from another process's mappings of the files, and pread of the files.
 * bin/bench fetch runs it beside the plugin.
 *
 *	checked_copy process_vm_readv|pread PID BLOCK_BYTES PARTITIONS FILE...
 *
 * Each file holds one block for each partition; the order is that of reduce tasks, one partition of all files after
 * the other. A block begins with its number. Prints the sum of the numbers, the wall time and the CPU time (ns), and
 * the sum of the checksums.
 */
#define _GNU_SOURCE
#include <endian.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static uint32_t crc32c_table[256];

static void make_table(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t crc = i;

		for (int bit = 0; bit < 8; bit++)
			crc = (crc >> 1) ^ (0x82F63B78 & -(crc & 1));
		crc32c_table[i] = crc;
	}
}

static uint32_t crc32c_by_table(const unsigned char *data, size_t length)
{
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < length; i++)
		crc = (crc >> 8) ^ crc32c_table[(crc ^ data[i]) & 0xFF];
	return ~crc;
}

#ifdef __x86_64__
__attribute__((target("sse4.2"))) static uint32_t crc32c_by_sse42(const unsigned char *data, size_t length)
{
	uint64_t crc = UINT32_MAX;

	for (; length >= 8; data += 8, length -= 8) {
		uint64_t word;

		memcpy(&word, data, sizeof(word));
		crc = __builtin_ia32_crc32di(crc, word);
	}
	for (; length > 0; data++, length--)
		crc = __builtin_ia32_crc32qi((uint32_t)crc, *data);
	return ~(uint32_t)crc;
}
#endif

static uint32_t crc32c(const unsigned char *data, size_t length)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("sse4.2"))
		return crc32c_by_sse42(data, length);
#endif
	return crc32c_by_table(data, length);
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Where the process has mapped the whole file; 0 if nowhere. */
static uint64_t mapping_of(pid_t pid, const char *file)
{
	char path[64], line[PATH_MAX + 128];
	uint64_t found = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "re");
	while (maps != NULL && fgets(line, sizeof(line), maps) != NULL) {
		uint64_t start, offset;
		int name = 0;

		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%" SCNx64 "-%*x %*s %" SCNx64 " %*s %*s %n", &start, &offset, &name) == 2 && name > 0 &&
		    offset == 0 && strcmp(line + name, file) == 0) {
			found = start;
			break;
		}
	}
	if (maps != NULL)
		fclose(maps);
	return found;
}

struct source {
	pid_t pid;	 /* 0: pread */
	uint64_t *bases; /* addresses, or file descriptors */
	size_t files;
	size_t block_bytes;
	size_t partitions;
};

static int open_source(struct source *source, char **files)
{
	for (size_t i = 0; i < source->files; i++) {
		if (source->pid == 0) {
			int fd = open(files[i], O_RDONLY | O_CLOEXEC);

			if (fd < 0) {
				perror(files[i]);
				return -1;
			}
			source->bases[i] = (uint64_t)fd;
		} else {
			source->bases[i] = mapping_of(source->pid, files[i]);
			if (source->bases[i] == 0) {
				fprintf(stderr, "process %d has not mapped %s\n", (int)source->pid, files[i]);
				return -1;
			}
		}
	}
	return 0;
}

static ssize_t copy(const struct source *source, size_t file, size_t partition, void *block)
{
	uint64_t offset = (uint64_t)partition * source->block_bytes;

	if (source->pid == 0)
		return pread((int)source->bases[file], block, source->block_bytes, (off_t)offset);

	struct iovec local = { .iov_base = block, .iov_len = source->block_bytes };
	struct iovec remote = { .iov_base = (void *)(uintptr_t)(source->bases[file] + offset),
				.iov_len = source->block_bytes };

	return process_vm_readv(source->pid, &local, 1, &remote, 1, 0);
}

static int run(const struct source *source)
{
	unsigned char *block = calloc(1, source->block_bytes);
	uint64_t numbers = 0, checksums = 0, wall, cpu;

	if (block == NULL)
		return -1;
	wall = now_ns(CLOCK_MONOTONIC);
	cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID);
	for (size_t partition = 0; partition < source->partitions; partition++) {
		for (size_t file = 0; file < source->files; file++) {
			uint64_t number;

			if (copy(source, file, partition, block) != (ssize_t)source->block_bytes) {
				perror("a block was not copied");
				free(block);
				return -1;
			}
			checksums += crc32c(block, source->block_bytes);
			memcpy(&number, block, sizeof(number));
			numbers += be64toh(number);
		}
	}
	wall = now_ns(CLOCK_MONOTONIC) - wall;
	cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", numbers, wall, cpu, checksums);
	free(block);
	return 0;
}

/* Copies a file of its own both ways; the check value of CRC32C is that of RFC 3720, B.4. */
static int smoke(void)
{
	char name[] = "/tmp/checked_copy.XXXXXX", *files[] = { name };
	static const unsigned char zeros[32];
	uint64_t base;
	int fd = mkstemp(name), status = -1;
	void *mapped;
	struct source source = { .bases = &base, .files = 1, .block_bytes = 4096, .partitions = 4 };

	if (fd < 0 || ftruncate(fd, 4 * 4096) != 0)
		return 1;
	mapped = mmap(NULL, 4 * 4096, PROT_READ, MAP_SHARED, fd, 0);
	if (mapped != MAP_FAILED && crc32c(zeros, sizeof(zeros)) == 0x8A9136AA &&
	    crc32c_by_table(zeros, sizeof(zeros)) == 0x8A9136AA && open_source(&source, files) == 0 &&
	    run(&source) == 0) {
		close((int)base);
		source.pid = getpid();
		status = open_source(&source, files) == 0 ? run(&source) : -1;
	}
	close(fd);
	unlink(name);
	return status == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
	struct source source = { 0 };
	int status = 1;

	make_table();
	if (argc < 2 || strncmp(argv[1], "--", 2) == 0)
		return smoke();
	if (argc < 6) {
		fprintf(stderr, "usage: checked_copy process_vm_readv|pread PID BLOCK_BYTES PARTITIONS FILE...\n");
		return 2;
	}
	source.pid = strcmp(argv[1], "pread") == 0 ? 0 : (pid_t)strtol(argv[2], NULL, 10);
	source.block_bytes = strtoul(argv[3], NULL, 10);
	source.partitions = strtoul(argv[4], NULL, 10);
	source.files = (size_t)argc - 5;
	source.bases = calloc(source.files, sizeof(*source.bases));
	if (source.bases != NULL && open_source(&source, argv + 5) == 0 && run(&source) == 0)
		status = 0;
	free(source.bases);
	return status;
}
