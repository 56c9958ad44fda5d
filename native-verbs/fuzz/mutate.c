/* SPDX-License-Identifier: Apache-2.0 */
/* Mutations that know what a frame is: one field, or whole frames moved, doubled, dropped or made up. */
#include "harness.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_FRAMES = 64, OPS = 16 };

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

static uint64_t state;

static uint32_t draw(uint32_t below)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(state >> 33) % below;
}

static uint64_t interesting(void)
{
	static const uint64_t values[] = {0,	   1,	      7,	   8,	       64,	   FUZZ_REGION_BYTES,
					  4095,	   65536,     UINT32_MAX,  1u << 30,   (1u << 30) + 1, INT64_MAX,
					  UINT64_MAX, FUZZ_REGION_IOVA, FUZZ_REGION_IOVA + 8, 2 * FUZZ_REGION_IOVA,
					  2 * FUZZ_REGION_IOVA + FUZZ_REGION_BYTES - 8, 3 * FUZZ_REGION_IOVA};

	return draw(3) ? values[draw(sizeof(values) / sizeof(values[0]))] : draw(300);
}

static struct frame made_up(void)
{
	return (struct frame){
		.op = FRAME_OP_USER + draw(OPS),
		.flags = draw(8),
		.status = draw(24),
		.seq = draw(8),
		.length = draw(80),
		.imm = FUZZ_KEY + draw(FUZZ_KEYS),
		.rkey = FUZZ_KEY + draw(FUZZ_KEYS),
		.remote_addr = (uint64_t)FUZZ_REGION_IOVA * (1 + draw(FUZZ_REGIONS)) + draw(64),
		.total = draw(200),
	};
}

static void change_field(struct frame *frame)
{
	switch (draw(10)) {
	case 0: frame->op = draw(4) ? FRAME_OP_USER + draw(OPS) : draw(256); break;
	case 1: frame->flags = draw(3) ? draw(8) : draw(256); break;
	case 2: frame->status = interesting(); break;
	case 3: frame->seq = draw(2) ? frame->seq + draw(3) - 1 : interesting(); break;
	case 4: frame->length = interesting(); break;
	case 5: frame->rkey = draw(3) ? FUZZ_KEY + draw(FUZZ_KEYS) : interesting(); break;
	case 6: frame->remote_addr = draw(2) ? interesting() : frame->remote_addr + draw(16) - 8; break;
	case 7: frame->total = interesting(); break;
	case 8: frame->imm = FUZZ_KEY + draw(FUZZ_KEYS); break;
	default: frame->arg = interesting(); break;
	}
}

/* Where the frames begin; the last entry is the end. */
static int find_frames(const uint8_t *data, size_t size, size_t starts[MAX_FRAMES + 1])
{
	size_t at = FUZZ_CONTROL_BYTES;
	int count = 0;

	while (size - at >= sizeof(struct frame) && count < MAX_FRAMES) {
		struct frame frame;
		size_t rest = size - at - sizeof(frame);

		memcpy(&frame, data + at, sizeof(frame));
		starts[count++] = at;
		at += sizeof(frame) + (frame.length < rest ? frame.length : rest);
	}
	starts[count] = at;
	return count;
}

static size_t insert(uint8_t *data, size_t size, size_t max_size, size_t at, const void *bytes, size_t length)
{
	if (size + length > max_size)
		return size;
	memmove(data + at + length, data + at, size - at);
	memcpy(data + at, bytes, length);
	return size + length;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
	static uint8_t copy[FUZZ_MAX_INPUT];
	size_t starts[MAX_FRAMES + 1], length;
	struct frame frame;
	int count, which;

	state = seed * 0x9e3779b97f4a7c15ull + 1;
	if (size < FUZZ_CONTROL_BYTES || draw(2))
		return LLVMFuzzerMutate(data, size, max_size);
	count = find_frames(data, size, starts);
	if (!count || !draw(6)) {
		frame = made_up();
		if (size + sizeof(frame) + frame.length > max_size)
			return LLVMFuzzerMutate(data, size, max_size);
		memset(copy, 0x77, sizeof(frame) + frame.length);
		memcpy(copy, &frame, sizeof(frame));
		return insert(data, size, max_size, starts[count ? draw(count + 1) : 0], copy,
			      sizeof(frame) + frame.length);
	}
	which = draw(count);
	length = starts[which + 1] - starts[which];
	switch (draw(5)) {
	case 0:
		memcpy(copy, data + starts[which], length);
		return insert(data, size, max_size, starts[draw(count + 1)], copy, length);
	case 1:
		memmove(data + starts[which], data + starts[which + 1], size - starts[which + 1]);
		return size - length;
	default:
		memcpy(&frame, data + starts[which], sizeof(frame));
		change_field(&frame);
		memcpy(data + starts[which], &frame, sizeof(frame));
		return size;
	}
}
