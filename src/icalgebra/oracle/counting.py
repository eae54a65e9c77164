"""Kernels: how often the facts, and the query's answer with them, embed into one structure and into a multiset.

Facts that share variables form a block. The query's variables and the blocks they belong to make the *asked* block;
the others may lie in the same structure or elsewhere. Two tables come out:

    placed[label, s, A, v]   the asked block and the blocks A together in structure s, the product being `label`;
                             v = 1 where the identity of s has been seen
    rest[m, B, u]            the blocks B spread over multiset m, u identities of which have not been seen
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from icalgebra.oracle.embeddings import bit, element_at, embed, has, make_plan

MAX_BLOCKS = 14  # besides the asked one; the count grows as 3 to their number
MAX_PLACES = 1 << 21  # multisets times sets of blocks: a bound on memory


class Blocks(NamedTuple):
    """Bit sets of variables."""

    asked: np.uint64
    others: np.ndarray
    seen: np.uint64  # all variables of the context and the query


class Workspace(NamedTuple):
    """Scatter tables, all zero between uses."""

    by_image: np.ndarray  # [2^largest]
    by_image_label: np.ndarray  # [2^largest, N + 1]
    by_image_element: np.ndarray  # [2^largest, largest]


@njit(cache=True)
def make_workspace(arrays):
    largest = arrays.orders.max()
    images = 1 << largest
    return Workspace(np.zeros(images), np.zeros((images, arrays.n_variables + 1)), np.zeros((images, largest)))


@njit(cache=True)
def find_blocks(facts, asked):
    """The connected parts of the facts; those that touch `asked` are joined to it."""
    parts, n = np.empty(len(facts) + 1, np.uint64), 0
    for f in range(len(facts)):
        joined = bit(facts[f, 0]) | bit(facts[f, 1]) | bit(facts[f, 2])
        kept = 0
        for i in range(n):
            if parts[i] & joined:
                joined |= parts[i]
            else:
                parts[kept] = parts[i]
                kept += 1
        parts[kept] = joined
        n = kept + 1
    others, kept, seen, touched = np.empty(n, np.uint64), 0, asked, asked
    for i in range(n):
        seen |= parts[i]
        if parts[i] & touched:
            asked |= parts[i]
        else:
            others[kept] = parts[i]
            kept += 1
    return Blocks(asked, others[:kept], seen)


@njit(cache=True)
def countable(arrays, blocks):
    n = len(blocks.others)
    return n <= MAX_BLOCKS and len(arrays.last) << n <= MAX_PLACES


@njit(cache=True)
def histogram(workspace, images, counts, n):
    """Merge equal images of images[:n] in place; how many distinct ones there are comes back."""
    table, distinct = workspace.by_image, 0
    for i in range(n):
        image = np.int64(images[i])
        if table[image] == 0:
            images[distinct] = images[i]
            distinct += 1
        table[image] += counts[i]
    for i in range(distinct):
        image = np.int64(images[i])
        counts[i] = table[image]
        table[image] = 0
    return distinct


@njit(cache=True)
def disjoint_products(workspace, images_a, counts_a, images_b, counts_b):
    """The joint histogram of two blocks in one structure: images must not overlap."""
    table = workspace.by_image
    found = np.empty(min(len(images_a) * len(images_b), len(table)), np.uint64)
    n = 0
    for i in range(len(images_a)):
        for j in range(len(images_b)):
            if images_a[i] & images_b[j]:
                continue
            image = images_a[i] | images_b[j]
            if table[np.int64(image)] == 0:
                found[n] = image
                n += 1
            table[np.int64(image)] += counts_a[i] * counts_b[j]
    counts = np.empty(n)
    for i in range(n):
        counts[i] = table[np.int64(found[i])]
        table[np.int64(found[i])] = 0
    return found[:n], counts


@njit(cache=True)
def joint_histograms(workspace, singles):
    """For every set A of blocks the histogram of their joint images; singles holds those of one block."""
    n_sets = 1 << len(singles)
    joint = [(np.zeros(1, np.uint64), np.ones(1))]
    for blocks in range(1, n_sets):
        lowest = 0
        while not blocks >> lowest & 1:
            lowest += 1
        images, counts = joint[blocks & (blocks - 1)]
        joint.append(disjoint_products(workspace, images, counts, singles[lowest][0], singles[lowest][1]))
    return joint


@njit(cache=True)
def count_together(arrays, s, joint, together):
    """together[A, v]: embeddings of the blocks A into s, by whether the identity is seen."""
    for blocks in range(len(joint)):
        images, counts = joint[blocks]
        for i in range(len(images)):
            together[blocks, identity_seen(arrays.identities[s], images[i])] += counts[i]


@njit(cache=True)
def identity_seen(identity, image):
    return 1 if identity < 0 or has(image, identity) else 0


@njit(cache=True)
def spread(arrays, workspace, s, images, joint, left_out, placed):
    """Add the labelled images to `placed`, with every set of other blocks beside them but `left_out`.

    left_out is −1, or the block that the labelled images already contain.
    """
    table = workspace.by_image_label
    beside = np.empty((len(joint), 2))
    for image in images:
        count_beside(arrays, s, image, joint, left_out, beside)
        row = table[np.int64(image)]
        for label in range(len(row)):
            if row[label] == 0:
                continue
            for blocks in range(len(joint)):
                for v in range(2):
                    placed[label, s, blocks, v] += row[label] * beside[blocks, v]
            row[label] = 0
        workspace.by_image[np.int64(image)] = 0


@njit(cache=True)
def count_beside(arrays, s, image, joint, left_out, beside):
    beside[:] = 0
    inside = 0 if left_out < 0 else 1 << left_out
    for blocks in range(len(joint)):
        if blocks & inside:
            continue
        images, counts = joint[blocks]
        for i in range(len(images)):
            if not images[i] & image:
                beside[blocks | inside, identity_seen(arrays.identities[s], images[i] | image)] += counts[i]


@njit(cache=True)
def place_asked(arrays, workspace, s, blocks, query, plans, embedded, joint, placed):
    """Embed the asked block into s and sort the embeddings by the variable that the product turns out to be."""
    images, readings = embedded[0]
    if len(images) == 0:
        return
    plan, by_image, table = plans[0], workspace.by_image, workspace.by_image_label
    left, right = plan.place[query[0]], plan.place[query[1]]
    touched, n = np.empty(2 * len(images), np.uint64), 0
    outside = np.empty(len(images), np.uint64)
    products, n_outside = np.empty(len(images), np.int64), 0
    for i in range(len(images)):
        product = arrays.tables[s, element_at(readings[i], left), element_at(readings[i], right)]
        image = images[i]
        if has(image, product):
            n = add_labelled(by_image, table, image, variable_at(plan.variable, readings[i], product), touched, n)
            continue
        n_outside = add_outside(workspace.by_image_element, image, product, outside, products, n_outside)
        n = add_labelled(by_image, table, image | bit(product), arrays.n_variables, touched, n)
        if arrays.reserved >= 0 and not has(blocks.seen, arrays.reserved) and product != arrays.identities[s]:
            n = add_labelled(by_image, table, image | bit(product), arrays.reserved, touched, n)
    spread(arrays, workspace, s, touched[:n], joint, -1, placed)
    for block in range(len(blocks.others)):
        join_other(arrays, workspace, s, outside[:n_outside], products, plans, embedded, block, joint, placed)
    for i in range(n_outside):
        workspace.by_image_element[np.int64(outside[i]), products[i]] = 0


@njit(cache=True, inline="always")
def variable_at(variable, reading, element):
    step = 0
    while element_at(reading, step) != element:
        step += 1
    return variable[step]


@njit(cache=True, inline="always")
def add_labelled(by_image, table, image, label, touched, n, amount=1.0):
    """Count one labelled image; it is listed once, when its total is still zero."""
    if by_image[np.int64(image)] == 0:
        touched[n] = image
        n += 1
    by_image[np.int64(image)] += amount
    table[np.int64(image), label] += amount
    return n


@njit(cache=True, inline="always")
def add_outside(by_image_element, image, product, outside, products, n):
    if by_image_element[np.int64(image), product] == 0:
        outside[n], products[n] = image, product
        n += 1
    by_image_element[np.int64(image), product] += 1
    return n


@njit(cache=True)
def join_other(arrays, workspace, s, outside, products, plans, embedded, block, joint, placed):
    """The product lies in another block: both blocks are in s, and that block's variable is the answer."""
    images, readings = embedded[1 + block]
    plan, by_image, table = plans[1 + block], workspace.by_image, workspace.by_image_label
    touched = np.empty(min(len(outside) * len(images), len(table)), np.uint64)
    n = 0
    for i in range(len(outside)):
        amount = workspace.by_image_element[np.int64(outside[i]), products[i]]
        for j in range(len(images)):
            if has(images[j], products[i]) and not images[j] & outside[i]:
                label = variable_at(plan.variable, readings[j], products[i])
                n = add_labelled(by_image, table, images[j] | outside[i], label, touched, n, amount)
    spread(arrays, workspace, s, touched[:n], joint, block, placed)


@njit(cache=True)
def embed_blocks(arrays, s, plans):
    """Images and readings of every block in s, the asked one first."""
    embedded = []
    for plan in plans:
        end, images, readings = embed(arrays, s, plan, np.empty(64, np.uint64), np.empty(64, np.uint64))
        embedded.append((images[:end], readings[:end]))
    return embedded


@njit(cache=True)
def single_histograms(workspace, embedded):
    singles = []
    for images, _ in embedded[1:]:
        merged, counts = images.copy(), np.ones(len(images))
        n = histogram(workspace, merged, counts, len(merged))
        singles.append((merged[:n], counts[:n]))
    return singles


@njit(cache=True)
def spread_over_multisets(arrays, together):
    """rest[m, B, u], one structure of the multiset after the other."""
    n_sets = together.shape[1]
    rest = np.zeros((len(arrays.last), n_sets, arrays.max_slots + 1))
    rest[0, 0, 0] = 1
    for m in range(1, len(arrays.last)):
        s = arrays.last[m]
        before = rest[arrays.without[m, s]]
        for inside in range(n_sets):
            for v in range(2):
                if together[s, inside, v] > 0:
                    add_structure(before, rest[m], inside, 1 - v, together[s, inside, v])
    return rest


@njit(cache=True)
def add_structure(before, after, inside, unseen, count):
    for outside in range(len(before)):
        if outside & inside:
            continue
        for u in range(before.shape[1] - unseen):
            after[outside | inside, u + unseen] += count * before[outside, u]


@njit(cache=True)
def count(arrays, workspace, facts, blocks, query):
    """The tables `placed` and `rest` of a context of distinct facts and a query (left, right)."""
    plans = [make_plan(facts, blocks.asked, arrays.n_variables)]
    plans.extend([make_plan(facts, block, arrays.n_variables) for block in blocks.others])
    n_sets, n_structures = 1 << len(blocks.others), len(arrays.orders)
    placed = np.zeros((arrays.n_variables + 1, n_structures, n_sets, 2))
    together = np.zeros((n_structures, n_sets, 2))
    for s in range(n_structures):
        embedded = embed_blocks(arrays, s, plans)
        joint = joint_histograms(workspace, single_histograms(workspace, embedded))
        count_together(arrays, s, joint, together[s])
        place_asked(arrays, workspace, s, blocks, query, plans, embedded, joint, placed)
    return placed, spread_over_multisets(arrays, together)
