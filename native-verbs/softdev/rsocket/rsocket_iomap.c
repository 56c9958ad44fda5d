/* SPDX-License-Identifier: Apache-2.0 */
/* riomap: memory of this end into which the peer writes, by RDMA WRITE, at offsets that both agree on. */
#include "rsocket.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "exports.h"
#include "rsocket_exports.h"

static bool unmaps_are_due(const struct rsocket *rs)
{
	for (int i = 0; i < RS_IOMAPS; i++)
		if (rs->own_maps[i].length && !rs->own_maps[i].mr)
			return true;
	return false;
}

/* Waits until the peer hears of what is gone before it hears of more. 0 or a positive errno. */
static int post_unmaps(struct rsocket *rs)
{
	int error = 0;

	rs_post_due(rs);
	while (!error && unmaps_are_due(rs))
		error = rs->disconnected ? ENOTCONN : rs_wait(rs, -1);
	return error;
}

off_t softverbs_riomap(int fd, void *data, size_t length, int protection, int flags, off_t offset)
{
	struct rsocket *rs = rs_get(fd);
	struct rs_iomap *map = NULL;
	struct rs_control control;
	int error, i;

	if (!rs)
		return -1;
	error = post_unmaps(rs);
	for (i = 0; i < RS_IOMAPS && !map; i++)
		map = rs->own_maps[i].length ? NULL : &rs->own_maps[i];
	if (!error && (!data || !length || flags || (protection & ~(PROT_WRITE | PROT_NONE))))
		error = EINVAL;
	else if (!error && !map)
		error = ENOMEM;
	else if (!error && (rs->state != RS_CONNECTED || rs->disconnected))
		error = ENOTCONN;
	if (!error) {
		int access = IBV_ACCESS_LOCAL_WRITE | (protection & PROT_WRITE ? IBV_ACCESS_REMOTE_WRITE : 0);

		map->mr = softverbs_ibv_reg_mr(rs->id->pd, data, length, access);
		error = map->mr ? 0 : errno;
	}
	if (!error) {
		uint64_t address = (uintptr_t)data;

		map->offset = offset == -1 ? address : (uint64_t)offset;
		map->address = address;
		map->length = length;
		control = (struct rs_control){.type = RS_IOMAP,
					      .value = map->mr->rkey,
					      .offset = map->offset,
					      .address = address,
					      .length = length};
		while (!error && !rs_post_control(rs, &control))
			error = rs->disconnected ? ECONNRESET : rs_wait(rs, -1);
		if (error) {
			softverbs_ibv_dereg_mr(map->mr);
			*map = (struct rs_iomap){0};
		}
	}
	offset = error ? rs_result(error) : (off_t)map->offset;
	rs_put(rs);
	return offset;
}

int softverbs_riounmap(int fd, void *data, size_t length)
{
	struct rsocket *rs = rs_get(fd);
	int error = EINVAL;

	if (!rs)
		return -1;
	for (int i = 0; i < RS_IOMAPS && error; i++) {
		struct rs_iomap *map = &rs->own_maps[i];

		if (!map->mr || map->address != (uintptr_t)data || map->length != length)
			continue;
		/* A peer that hears of it too late fails by its key, as with any region that is gone. */
		softverbs_ibv_dereg_mr(map->mr);
		map->mr = NULL;
		rs_post_due(rs);
		error = 0;
	}
	rs_put(rs);
	return rs_result(error);
}

static const struct rs_iomap *map_at(const struct rsocket *rs, uint64_t offset)
{
	for (int i = 0; i < RS_IOMAPS; i++) {
		const struct rs_iomap *map = &rs->peer_maps[i];

		if (offset >= map->offset && offset - map->offset < map->length)
			return map;
	}
	return NULL;
}

size_t softverbs_riowrite(int fd, const void *data, size_t length, off_t offset, int flags)
{
	struct rsocket *rs = rs_get(fd);
	uint64_t to = (uint64_t)offset;
	size_t done = 0;
	int error = 0;

	if (!rs)
		return (size_t)-1;
	rs_progress(rs);
	while (!error && done < length) {
		const struct rs_iomap *map = map_at(rs, to + done);

		if (rs->state != RS_CONNECTED || rs->disconnected) {
			error = ENOTCONN;
		} else if (!map) {
			error = EINVAL;
		} else if (!rs_has_slot(rs)) {
			error = rs->file_flags & O_NONBLOCK || flags & MSG_DONTWAIT ? EAGAIN : rs_wait(rs, -1);
		} else {
			uint64_t within = to + done - map->offset;
			size_t part = length - done < RS_SLOT_BYTES ? length - done : RS_SLOT_BYTES;

			if (part > map->length - within)
				part = map->length - within;
			memcpy(rs_next_slot(rs), (const char *)data + done, part);
			error = rs_post_slot(rs, (uint32_t)part, map, map->address + within);
			if (!error)
				done += part;
		}
	}
	rs_put(rs);
	return done || !error ? done : (size_t)rs_result(error);
}
