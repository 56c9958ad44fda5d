/* SPDX-License-Identifier: Apache-2.0 */
/* Shared receive queues of ids. */
#include <errno.h>

#include "cm/cm.h"
#include "cm/cm_exports.h"
#include "exports.h"

int softverbs_rdma_create_srq(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	if (!pd)
		pd = id->pd;
	if (id->srq || !id->verbs || !pd || pd->context != id->verbs)
		return cm_result(-EINVAL);
	id->srq = softverbs_ibv_create_srq(pd, attr);
	return id->srq ? 0 : -1;
}

void softverbs_rdma_destroy_srq(struct rdma_cm_id *id)
{
	if (id->srq && !softverbs_ibv_destroy_srq(id->srq))
		id->srq = NULL;
}
