"""Kernels: in how many ways the facts, together with each answer to the query, embed into structures and multisets.

Facts that share variables form a connected component, which lies in one structure. The query's variables and the
components they belong to make the query component. The other components may lie in the same structure or elsewhere.
Two tables of counts come out; A and B are sets of other components, as bit sets:

    query_in[label, s, A, v]   the query component and the components A together in structure s, where the product has
                               the variable `label` (N: any one variable that is neither seen nor reserved);
                               v = 1 where the identity of s is seen, that is, has a variable
    rest[m, B, u]              the components B distributed over the structures of multiset m, u identities unseen
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from icalgebra.compilation import njit
from icalgebra.oracle.arrays import FIRST, PRODUCT
from icalgebra.oracle.budget import MAX_BYTES, Budget, exhausted, spend
from icalgebra.oracle.components import smallest_two
from icalgebra.oracle.embeddings import ELEMENTS, IMAGE, WEIGHT, element_at, embed, has, make_plan
from icalgebra.solvers.kernels import bit

MAX_COMPONENTS = 14  # besides the query's; the work grows as 3 to the power of their number


class Workspace(NamedTuple):
    """Tables to accumulate counts by image (a bit set of elements). They are all zero between uses."""

    by_image: np.ndarray  # [2^largest]
    by_image_label: np.ndarray  # [2^largest, N + 1]
    by_image_element: np.ndarray  # [2^largest, largest]
    budget: Budget


@njit(cache=True)
def make_workspace(arrays, limits):
    largest = arrays.orders.max()
    images = 1 << largest
    return Workspace(
        np.zeros(images),
        np.zeros((images, arrays.n_variables + 1)),
        np.zeros((images, largest)),
        Budget(limits, np.zeros(2, np.int64)),
    )


@njit(cache=True)
def clear(workspace):
    """Zero the tables again after a query that was given up."""
    workspace.by_image[:] = 0
    workspace.by_image_label[:] = 0
    workspace.by_image_element[:] = 0


@njit(cache=True)
def countable(arrays, components):
    """Whether the tables of counts have a bearable size."""
    n = len(components.others)
    if n > MAX_COMPONENTS:
        return False
    rest = len(arrays.last) * (arrays.max_structures + 1)
    query_in = (arrays.n_variables + 4) * len(arrays.orders) * 2  # three more for label_weights
    return (rest + query_in) << n <= MAX_BYTES // 8


@njit(cache=True)
def count(arrays, workspace, facts, components, query):
    """The tables `query_in` and `rest` of a context of distinct facts and a query (left, right)."""
    plans = [make_plan(facts, components.query, arrays.n_variables)]
    plans.extend([make_plan(facts, other, arrays.n_variables) for other in components.others])
    n_sets, n_structures = 1 << len(components.others), len(arrays.orders)
    query_in = np.zeros((arrays.n_variables + 1, n_structures, n_sets, 2))
    others_in = np.zeros((n_structures, n_sets, 2))
    for s in range(n_structures):
        equal = arrays.equal[s]
        if equal < s:
            others_in[s], query_in[:, s] = others_in[equal], query_in[:, equal]
            continue
        embedded = embed_all(arrays, workspace.budget, s, plans)
        if exhausted(workspace.budget):
            break
        joint = joint_histograms(workspace, embedded)
        count_others(arrays, s, joint, others_in[s])
        place_query(arrays, workspace, s, components, query, plans, embedded, joint, query_in)
    return query_in, count_rest(arrays, workspace.budget, others_in)


@njit(cache=True)
def embed_all(arrays, budget, s, plans):
    """The embeddings of every component into s, the query's first.

    Symmetry can be broken once for all components that lie in s together: in the query's, whose partners are then
    listed in full. A component that is too large for any partner is there alone.
    """
    order, smallest = arrays.orders[s], smallest_two(plans)
    embedded = []
    for i in range(len(plans)):
        n = len(plans[i].variable)
        if n > order:
            embedded.append(np.empty((0, 3), np.uint64))
            continue
        alone = n + smallest[1 if n == smallest[0] else 0] > order
        embedded.append(
            embed(
                arrays.solutions[s],
                arrays.symmetry[s],
                order,
                arrays.identities[s],
                arrays.reserved,
                budget,
                plans[i],
                i == 0 or alone,
            )
        )
    return embedded


# --- the components besides the query's -------------------------------------------------------------------------------


@njit(cache=True)
def image_histogram(workspace, embedded):
    """The distinct images of one component, and how many embeddings have each."""
    table, distinct, n = workspace.by_image, np.empty(len(embedded), np.uint64), 0
    for i in range(len(embedded)):
        image = embedded[i, IMAGE]
        if table[np.int64(image)] == 0:
            distinct[n] = image
            n += 1
        table[np.int64(image)] += embedded[i, WEIGHT]
    return distinct[:n], take_counts(table, distinct, n)


@njit(cache=True)
def convolve_disjoint(workspace, images_a, counts_a, images_b, counts_b):
    """The histogram of the joint images of two components in one structure: their images must be disjoint."""
    table = workspace.by_image
    joint, n = np.empty(min(len(images_a) * len(images_b), len(table)), np.uint64), 0
    for i in range(len(images_a)):
        if spend(workspace.budget, len(images_b)):
            break
        for j in range(len(images_b)):
            if images_a[i] & images_b[j]:
                continue
            image = images_a[i] | images_b[j]
            if table[np.int64(image)] == 0:
                joint[n] = image
                n += 1
            table[np.int64(image)] += counts_a[i] * counts_b[j]
    spend(workspace.budget, 0, n)
    return joint[:n].copy(), take_counts(table, joint, n)


@njit(cache=True)
def take_counts(table, images, n):
    """The counts of images[:n]; the table is zero again afterwards."""
    counts = np.empty(n)
    for i in range(n):
        counts[i] = table[np.int64(images[i])]
        table[np.int64(images[i])] = 0
    return counts


@njit(cache=True)
def joint_histograms(workspace, embedded):
    """For every set of other components, the histogram of their joint images; `embedded` has the query's first."""
    joint = [(np.zeros(1, np.uint64), np.ones(1))]
    for last in range(len(embedded) - 1):  # sets are numbered as bit sets, so those without `last` are all there
        alone = image_histogram(workspace, embedded[1 + last])
        joint.append(alone)
        for without in range(1, 1 << last):
            if exhausted(workspace.budget):
                return joint
            before = joint[without]
            if len(before[0]) == 0 or len(alone[0]) == 0:
                joint.append((alone[0][:0], alone[1][:0]))
            else:
                joint.append(convolve_disjoint(workspace, before[0], before[1], alone[0], alone[1]))
    return joint


@njit(cache=True)
def count_others(arrays, s, joint, others_in):
    """others_in[A, v]: embeddings of the components A into s, by whether its identity is seen."""
    for others in range(len(joint)):
        images, counts = joint[others]
        for i in range(len(images)):
            others_in[others, identity_seen(arrays.identities[s], images[i])] += counts[i]


@njit(cache=True)
def identity_seen(identity, image):
    return 1 if identity < 0 or has(image, identity) else 0


@njit(cache=True)
def count_rest(arrays, budget, others_in):
    """rest[m, B, u]: each multiset from the one that lacks its last structure, with the components `inside` in that."""
    n_sets, n_unseen = others_in.shape[1], arrays.max_structures + 1
    rest = np.zeros((len(arrays.last), n_sets, n_unseen))
    rest[0, 0, 0] = 1
    for m in range(1, len(arrays.last)):
        s = arrays.last[m]
        before, done = arrays.without[m, s], 0
        for inside in range(n_sets):
            for v in range(2):
                ways, unseen = others_in[s, inside, v], 1 - v
                if ways == 0:
                    continue
                done += n_sets
                for outside in range(n_sets):
                    if not outside & inside:
                        for u in range(n_unseen - unseen):
                            rest[m, outside | inside, u + unseen] += ways * rest[before, outside, u]
        if spend(budget, done):
            return rest
    return rest


# --- the query component ----------------------------------------------------------------------------------------------


@njit(cache=True)
def place_query(arrays, workspace, s, components, query, plans, embedded, joint, query_in):
    """Embed the query component into s and count its embeddings by the variable of the product.

    The product is an element of the image, and has a variable of the component; or it lies outside, and its variable is
    an unseen one, or one of another component in the same structure.
    """
    found = embedded[0]
    if len(found) == 0:
        return
    plan, by_image, table = plans[0], workspace.by_image, workspace.by_image_label
    left, right = plan.step_of[query[0]], plan.step_of[query[1]]
    touched, n = np.empty(2 * len(found), np.uint64), 0
    outside = np.empty(len(found), np.uint64)
    products, n_outside = np.empty(len(found), np.int64), 0
    reserved_open = arrays.reserved >= 0 and not has(components.seen, arrays.reserved)
    for i in range(len(found)):
        image, elements, weight = found[i, IMAGE], found[i, ELEMENTS], np.float64(found[i, WEIGHT])
        product = arrays.solutions[s, FIRST, PRODUCT, element_at(elements, left), element_at(elements, right)]
        if has(image, product):
            n = add_labelled(by_image, table, image, variable_at(plan.variable, elements, product), touched, n, weight)
            continue
        n_outside = add_outside(workspace.by_image_element, image, product, outside, products, n_outside, weight)
        n = add_labelled(by_image, table, image | bit(product), arrays.n_variables, touched, n, weight)
        if reserved_open and product != arrays.identities[s]:
            n = add_labelled(by_image, table, image | bit(product), arrays.reserved, touched, n, weight)
    add_with_others(arrays, workspace, s, touched[:n], joint, -1, query_in)
    for other in range(len(components.others)):
        place_query_on(arrays, workspace, s, outside[:n_outside], products, plans, embedded, other, joint, query_in)
    for i in range(n_outside):
        workspace.by_image_element[np.int64(outside[i]), products[i]] = 0


@njit(cache=True)
def place_query_on(arrays, workspace, s, outside, products, plans, embedded, other, joint, query_in):
    """The product lies in another component, which is then in s too, and one of its variables is the answer."""
    found = embedded[1 + other]
    if len(outside) == 0 or len(found) == 0:
        return
    plan, by_image, table = plans[1 + other], workspace.by_image, workspace.by_image_label
    touched = np.empty(min(len(outside) * len(found), len(table)), np.uint64)
    n = 0
    for i in range(len(outside)):
        if spend(workspace.budget, len(found)):
            return
        amount = workspace.by_image_element[np.int64(outside[i]), products[i]]
        for j in range(len(found)):
            image = found[j, IMAGE]
            if has(image, products[i]) and not image & outside[i]:
                label = variable_at(plan.variable, found[j, ELEMENTS], products[i])
                n = add_labelled(by_image, table, image | outside[i], label, touched, n, amount)
    add_with_others(arrays, workspace, s, touched[:n], joint, other, query_in)


@njit(cache=True, inline="always")
def variable_at(variable, embedding, element):
    """The variable that an embedding maps to this element."""
    step = 0
    while element_at(embedding, step) != element:
        step += 1
    return variable[step]


@njit(cache=True, inline="always")
def add_labelled(by_image, table, image, label, touched, n, amount):
    """Count labelled images. Each is added to touched[:n] once, while its total is zero; returns the new n."""
    if by_image[np.int64(image)] == 0:
        touched[n] = image
        n += 1
    by_image[np.int64(image)] += amount
    table[np.int64(image), label] += amount
    return n


@njit(cache=True, inline="always")
def add_outside(by_image_element, image, product, outside, products, n, amount):
    """Count images with a product outside them; each such pair is listed once. Returns the new length of the list."""
    if by_image_element[np.int64(image), product] == 0:
        outside[n], products[n] = image, product
        n += 1
    by_image_element[np.int64(image), product] += amount
    return n


@njit(cache=True)
def add_with_others(arrays, workspace, s, images, joint, contained, query_in):
    """Add the labelled images to `query_in`, with every set of other components beside them in s.

    contained: the other component that the images already contain, or −1.
    """
    table = workspace.by_image_label
    beside = np.empty((len(joint), 2))
    n_beside = 0
    for others in range(len(joint)):
        n_beside += len(joint[others][0])
    for image in images:
        if spend(workspace.budget, n_beside + len(joint)):
            return
        count_beside(arrays, s, image, joint, contained, beside)
        row = table[np.int64(image)]
        for label in range(len(row)):
            if row[label] == 0:
                continue
            for others in range(len(joint)):
                for v in range(2):
                    query_in[label, s, others, v] += row[label] * beside[others, v]
            row[label] = 0
        workspace.by_image[np.int64(image)] = 0


@njit(cache=True)
def count_beside(arrays, s, image, joint, contained, beside):
    """beside[A, v]: embeddings of the components A (without the contained one) that are disjoint from the image."""
    beside[:] = 0
    inside = 0 if contained < 0 else 1 << contained
    for others in range(len(joint)):
        if others & inside:
            continue
        images, counts = joint[others]
        for i in range(len(images)):
            if not images[i] & image:
                beside[others | inside, identity_seen(arrays.identities[s], images[i] | image)] += counts[i]
