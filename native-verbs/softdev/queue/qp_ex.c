/* SPDX-License-Identifier: Apache-2.0 */
/* ibv_create_qp_ex(): which extended attributes are supported. */
#include "exports.h"
#include "queue/qp.h"
#include "queue/wr_builder.h"

#include <errno.h>

enum {
	KNOWN_MASK = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD | IBV_QP_INIT_ATTR_CREATE_FLAGS |
		     IBV_QP_INIT_ATTR_MAX_TSO_HEADER | IBV_QP_INIT_ATTR_IND_TABLE |
		     IBV_QP_INIT_ATTR_RX_HASH | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
	SUPPORTED_MASK = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
};

static int check(const struct ibv_context *context, const struct ibv_qp_init_attr_ex *attr)
{
	if (attr->comp_mask & ~(uint32_t)KNOWN_MASK)
		return EINVAL;
	if (attr->comp_mask & ~(uint32_t)SUPPORTED_MASK)
		return EOPNOTSUPP;
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || !attr->pd || attr->pd->context != context)
		return EINVAL;
	if ((attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) && attr->create_flags)
		return EOPNOTSUPP;
	if ((attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) &&
	    !wr_builder_supports(attr->qp_type, attr->send_ops_flags))
		return EOPNOTSUPP;
	return 0;
}

struct ibv_qp *qp_create_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp *qp;
	int error = check(context, attr);

	if (error)
		goto failed;
	/* ibv_qp_init_attr_ex begins with the fields of ibv_qp_init_attr. */
	qp = softverbs_ibv_create_qp(attr->pd, (struct ibv_qp_init_attr *)(void *)attr);
	if (!qp)
		return NULL;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		error = wr_builder_attach(to_qp(qp), attr->send_ops_flags);
	if (!error)
		return qp;
	softverbs_ibv_destroy_qp(qp);
failed:
	errno = error;
	return NULL;
}

struct ibv_qp_ex *softverbs_ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	return to_qp(qp)->builder ? &to_qp(qp)->ex : NULL;
}
