/* SPDX-License-Identifier: Apache-2.0 */
/* Shared receive queues of ids. */
#include <errno.h>

#include "cm/cm.h"
#include "cm/cm_exports.h"
#include "exports.h"

/* ibv_srq_init_attr_ex begins with the fields of ibv_srq_init_attr. */
static struct ibv_srq *create(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr)
{
	const uint32_t basic = IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TYPE;
	struct verbs_context *verbs = verbs_get_ctx(context);

	if (!(attr->comp_mask & ~basic) &&
	    (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) || attr->srq_type == IBV_SRQT_BASIC))
		return softverbs_ibv_create_srq(attr->pd, (struct ibv_srq_init_attr *)(void *)attr);
	if (verbs->create_srq_ex)
		return verbs->create_srq_ex(context, attr);
	errno = EOPNOTSUPP;
	return NULL;
}

int softverbs_rdma_create_srq_ex(struct rdma_cm_id *id, struct ibv_srq_init_attr_ex *attr)
{
	struct ibv_srq *srq;

	if (id->srq || !id->verbs)
		return cm_result(-EINVAL);
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) || !attr->pd) {
		attr->pd = id->pd;
		attr->comp_mask |= IBV_SRQ_INIT_ATTR_PD;
	}
	if (!attr->pd || attr->pd->context != id->verbs)
		return cm_result(-EINVAL);
	srq = create(id->verbs, attr);
	if (!srq)
		return -1;
	id->srq = srq;
	return 0;
}

int softverbs_rdma_create_srq(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct ibv_srq_init_attr_ex extended = {
		.srq_context = attr->srq_context,
		.attr = attr->attr,
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | (pd ? IBV_SRQ_INIT_ATTR_PD : 0),
		.srq_type = IBV_SRQT_BASIC,
		.pd = pd,
	};
	int result = softverbs_rdma_create_srq_ex(id, &extended);

	if (!result)
		attr->attr = extended.attr;
	return result;
}

void softverbs_rdma_destroy_srq(struct rdma_cm_id *id)
{
	if (id->srq && !softverbs_ibv_destroy_srq(id->srq))
		id->srq = NULL;
}
