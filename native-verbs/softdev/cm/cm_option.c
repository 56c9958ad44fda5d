/* SPDX-License-Identifier: Apache-2.0 */
/* rdma_set_option(): when each option may be set, and what it affects. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "cm/cm.h"
#include "cm/cm_exports.h"

enum { MAX_ACK_TIMEOUT = 31 };

struct option {
	int level, name;
	const void *value;
	size_t length;
};

/* Of an int that stands for true or false. Returns false if the value is none. */
static bool read_flag(const struct option *option, int *flag)
{
	if (option->length != sizeof(*flag))
		return false;
	memcpy(flag, option->value, sizeof(*flag));
	*flag = *flag != 0;
	return true;
}

static int set_type_of_service(struct cm_id *id, const struct option *option)
{
	if (option->length != sizeof(uint8_t))
		return -EINVAL;
	id->type_of_service = *(const uint8_t *)option->value;
	return 0;
}

/* The option may be set until the id listens, as in the kernel. */
static int set_reuse_address(struct cm_id *id, const struct option *option)
{
	int reuse;

	if (!read_flag(option, &reuse) || id->state == CM_LISTENING)
		return -EINVAL;
	if (id->udp_watch.fd >= 0 && setsockopt(id->udp_watch.fd, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof(reuse)))
		return -errno;
	id->reuse_address = reuse;
	return 0;
}

/* The option cannot reach the socket of a bound id any more; requests of the other family then find no listener. */
static int set_v6_only(struct cm_id *id, const struct option *option)
{
	int only;

	if (!read_flag(option, &only) || (id->state != CM_IDLE && (id->state != CM_BOUND || (id->v6_only && !only))))
		return -EINVAL;
	id->v6_only = only;
	return 0;
}

static int set_ack_timeout(struct cm_id *id, const struct option *option)
{
	if (option->length != sizeof(uint8_t) || *(const uint8_t *)option->value > MAX_ACK_TIMEOUT ||
	    cm_is_datagram(id))
		return -EINVAL;
	id->ack_timeout = *(const uint8_t *)option->value;
	id->has_ack_timeout = true;
	return 0;
}

static int set(struct cm_id *id, void *argument)
{
	static int (*const setters[])(struct cm_id *, const struct option *) = {
		[RDMA_OPTION_ID_TOS] = set_type_of_service,
		[RDMA_OPTION_ID_REUSEADDR] = set_reuse_address,
		[RDMA_OPTION_ID_AFONLY] = set_v6_only,
		[RDMA_OPTION_ID_ACK_TIMEOUT] = set_ack_timeout,
	};
	const struct option *option = argument;

	if (option->level != RDMA_OPTION_ID || (unsigned int)option->name >= sizeof(setters) / sizeof(setters[0]))
		return -ENOSYS;
	return setters[option->name](id, option);
}

int softverbs_rdma_set_option(struct rdma_cm_id *id, int level, int name, void *value, size_t length)
{
	struct option option = {level, name, value, length};

	if (!value)
		return cm_result(-EINVAL);
	return cm_result(cm_run(to_cm_id(id), set, &option));
}
