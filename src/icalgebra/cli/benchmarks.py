"""What `icalgebra bench` measures: one function per part, each warmed up and timed in one process."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter, process_time
from typing import Any

import numpy as np

from icalgebra.data.distributions import DISTRIBUTIONS, sample, world_arrays
from icalgebra.data.sampler import DistributionSpec, fill_rows
from icalgebra.language.vocabulary import EQUALS, FACT_LENGTH
from icalgebra.language.world import World
from icalgebra.oracle import posterior, posterior_by_facts
from icalgebra.randomness import stream_key
from icalgebra.solvers import answer_sets

RELEASED_GENERATOR = 830.0  # sequences per second on one core by the released code: 500 to 830 were measured
RELEASED_COVERAGE = 5.0  # sequences per second through the five coverage functions of the released code


def best_time(work: Callable[[], Any], repeats: int = 5) -> float:
    """Seconds of the fastest of several runs, after one to warm up (compilation, caches)."""
    work()
    times = []
    for _ in range(repeats):
        begin = perf_counter()
        work()
        times.append(perf_counter() - begin)
    return min(times)


def sampler(seed: int) -> dict[str, Any]:
    """Training sequences of 200 facts, written into a reused buffer as in training."""
    n, n_facts, world = 8192, 200, World()
    tokens = np.empty((n, n_facts * FACT_LENGTH), dtype=np.uint8)
    structures = np.empty((n, world.max_mixture), dtype=np.int16)
    assignment = np.empty((n, world.n_variables), dtype=np.int8)
    key, arrays, spec = stream_key(seed, "bench"), world_arrays(world), DistributionSpec()
    seconds = best_time(lambda: fill_rows(tokens, structures, assignment, key, 0, arrays, spec))
    rate = n / seconds
    return {
        "rate": rate,
        "released_code": RELEASED_GENERATOR,
        "ratio": rate / RELEASED_GENERATOR,
        "unit": "sequences/s",
    }


def distributions(seed: int) -> dict[str, Any]:
    """Every distribution through the public call, 200 facts."""

    def rate(name: str) -> float:
        return 2048 / best_time(lambda: sample(name, 2048, 200, seed), repeats=2)

    return {**{name: rate(name) for name in DISTRIBUTIONS}, "unit": "sequences/s"}


def solvers(seed: int) -> dict[str, Any]:
    """All five mechanisms at all 200 positions of training sequences."""
    tokens = sample("train", 2048, 200, seed).tokens
    rate = 2048 / best_time(lambda: [answer_sets(tokens[i : i + 256], "every") for i in range(0, 2048, 256)])
    return {"rate": rate, "released_code": RELEASED_COVERAGE, "ratio": rate / RELEASED_COVERAGE, "unit": "sequences/s"}


def oracle(seed: int) -> dict[str, Any]:
    """Hold-out queries with 1 … 200 facts of context, ten of each per call; and the slowest query on its own.

    Processor time: single queries take milliseconds, and other work on the machine would drown them.
    """
    world = World()
    batches = [sample("holdout", 10, 1 + n, seed, world).prompts for n in range(1, 201)]
    posterior(batches[0], world)
    seconds = processor_time(lambda: [posterior(batch, world) for batch in batches])
    single = [processor_time(lambda row=row: posterior(row, world)) for batch in batches for row in batch]  # type: ignore[misc]
    sequences = sample("holdout", 20, 200, seed, world)
    posterior_by_facts(sequences.prompts[:1], world)
    prefixes = [
        np.concatenate([sequences.tokens[:, : n * FACT_LENGTH], sequences.prompts[:, 1 - FACT_LENGTH :]], axis=1)
        for n in range(200)
    ]
    return {
        "rate": len(single) / seconds,
        "worst_ms": 1e3 * max(single),
        "all_positions_ms": 50 * processor_time(lambda: posterior_by_facts(sequences.prompts, world)),
        "separate_queries_ms": 50 * processor_time(lambda: [posterior(prefix, world) for prefix in prefixes]),
        "unit": "queries/s",
    }


def ladder(seed: int) -> dict[str, Any]:
    """Hold-out queries of 200 facts on the rungs up to associative, without and with proofs; processor time."""
    from icalgebra.solvers.ladder import decide_queries, prove

    world, prompts = World(), sample("holdout", 2000, 200, seed).prompts
    decide_queries(prompts[:1], world)
    prove(prompts[0], world)
    rate = len(prompts) / processor_time(lambda: decide_queries(prompts, world))
    proofs = 200 / processor_time(lambda: [prove(prompt, world) for prompt in prompts[:200]])
    return {"rate": rate, "with_proofs": proofs, "unit": "queries/s"}


def reliance(seed: int) -> dict[str, Any]:
    """One prompt of `small` with 50 facts of context, without each of them in turn; processor time."""
    from icalgebra.interp.fact_reliance import reliance as without_each
    from icalgebra.model.checkpoints import load_model

    model, prompts = load_model("small"), sample("holdout", 4, 51, seed).prompts
    without_each(model, prompts[0])
    seconds = processor_time(lambda: [without_each(model, prompt) for prompt in prompts[1:]]) / 3
    return {"seconds": seconds, "unit": "per prompt"}


def forward(seed: int) -> dict[str, Any]:
    """Forward passes of `small` over 1000 tokens, in fp32 and bf16, on as many cores as torch is allowed; wall clock.

    matrix_…: products of the MLP's shape alone. same_argmax: over the 5000 queries of 25 training sequences.
    """
    import torch

    from icalgebra.model.checkpoints import load_model
    from icalgebra.model.flops import flops_a_sequence
    from icalgebra.model.predict import Precision, top_variable, variable_logits

    model, n = load_model("small"), 25
    tokens, asked = sample("train", n, 200, seed).tokens, slice(EQUALS, None, FACT_LENGTH)
    shape, logits = model.config, {}
    found: dict[str, float] = {}
    precisions: tuple[tuple[Precision, torch.dtype], ...] = (("fp32", torch.float32), ("bf16", torch.bfloat16))
    for name, dtype in precisions:
        left, right = torch.randn(8000, shape.d_model).to(dtype), torch.randn(shape.d_model, shape.d_mlp).to(dtype)
        matrix = 2e-9 * left.numel() * shape.d_mlp / best_time(lambda a=left, b=right: a @ b)  # type: ignore[misc]
        seconds = best_time(lambda name=name: variable_logits(model, tokens[:8], asked, precision=name), 3)  # type: ignore[misc]
        reached = 8e-9 * flops_a_sequence(shape, 200) / 3 / seconds  # a third of a training step
        logits[name] = torch.from_numpy(variable_logits(model, tokens, asked, precision=name))
        found |= {f"{name}_sequences": 8 / seconds, f"{name}_gflops": reached, f"{name}_matrix_gflops": matrix}
    best = {name: top_variable(values) for name, values in logits.items()}
    return {
        **found,
        "same_argmax": float((best["fp32"] == best["bf16"]).mean()),
        "largest_difference": float((logits["fp32"] - logits["bf16"]).abs().max()),
        "cores": torch.get_num_threads(),
        "unit": "sequences/s, GFLOP/s",
    }


def branches(seed: int) -> dict[str, Any]:
    """The shipped model's accuracy at every k = 2 … 200: one pass with branches, against 199 plain passes.

    Processor time of one sequence; ratio_tokens compares the tokens that pass through the linear layers.
    """
    from icalgebra.model.checkpoints import load_model
    from icalgebra.model.predict import as_predictor
    from icalgebra.model.prefix_accuracy import BRANCH, logits_after_prefixes

    model, facts = load_model("small"), range(2, 201)
    prompts = sample("holdout", 1, 200, seed).prompts
    prefixes = [np.concatenate([prompts[:, : (k - 1) * FACT_LENGTH], prompts[:, -BRANCH:]], axis=1) for k in facts]
    predict = as_predictor(model)
    logits_after_prefixes(model, prompts, facts)
    together = min(processor_time(lambda: logits_after_prefixes(model, prompts, facts)) for _ in range(3))
    apart = processor_time(lambda: [predict(prefix) for prefix in prefixes])
    tokens = sum(prefix.size for prefix in prefixes) / (prompts.size - BRANCH + BRANCH * len(facts))
    return {"branches_s": together, "plain_s": apart, "ratio": apart / together, "ratio_tokens": tokens, "unit": "x"}


def patching(seed: int) -> dict[str, Any]:
    """The sweep over all heads of the shipped model on a copy and a commute pair of 200 facts, three ways.

    loop: source, clean and patched run for every head, as published. plain: one source run, one corrupt run and
    the patched runs. Processor time, so that the ratios also hold on a busy machine.
    """
    from icalgebra.interp.heads import query_sampler
    from icalgebra.interp.patching import head_sites, indirect_effects
    from icalgebra.model.checkpoints import load_model
    from icalgebra.model.predict import on_device

    model, draw = load_model("small").requires_grad_(False), query_sampler(World(), 200, seed, "bench")
    clean, corrupt = (np.concatenate([draw(a, 1).tokens, draw(b, 1, "2").tokens])
                      for a, b in (("copy", "commute"), ("holdout", "holdout")))  # fmt: skip
    arguments = (model, clean[:, :-1], corrupt[:, :-1], clean[:, -1])
    sites, inputs = head_sites(model), [on_device(model, part[:, :-1]) for part in (clean, corrupt)]

    def loop() -> None:
        for site in sites:
            indirect_effects(*arguments, [site], resumed=False)  # three runs

    indirect_effects(*arguments)
    fast = min(processor_time(lambda: indirect_effects(*arguments)) for _ in range(5))
    plain = processor_time(lambda: [model(tokens) for tokens in inputs + [inputs[1]] * len(sites)])
    looped = processor_time(loop)
    return {"pairs_per_second": 2 / fast, "over_loop": looped / fast, "over_plain": plain / fast, "unit": "pairs/s"}


def components(seed: int) -> dict[str, Any]:
    """The map of one mechanism: every head and MLP at every token of the query patched, on pairs of 200 facts.

    `passes_per_pair`: processor time in forward passes over one sequence, the two that the pair itself needs included.
    """
    from icalgebra.interp.components import all_components, component_effects
    from icalgebra.interp.minimal_pairs import minimal_pairs
    from icalgebra.model.checkpoints import load_model
    from icalgebra.model.predict import on_device

    model, pairs = load_model("small").requires_grad_(False), minimal_pairs("copy", 8, 200, seed)
    sets, tokens = [[component] for component in all_components(model)], on_device(model, pairs.clean_prompts)
    mapped = min(processor_time(lambda: component_effects(model, pairs, sets)) for _ in range(3))
    plain = min(processor_time(lambda: model(tokens)) for _ in range(3))
    return {"pairs_per_second": len(pairs) / mapped, "passes_per_pair": mapped / plain, "unit": "pairs/s"}


def subspaces(seed: int) -> dict[str, Any]:
    """One closure subspace of the shipped model: 16 dimensions, 2000 pairs of 20 facts, 250 steps; then fresh pairs.

    On CUDA where there is one. `runs_s`: the forward passes over all pairs, shared by every site and size.
    """
    from icalgebra.data.counterfactuals import counterfactual_pairs
    from icalgebra.interp.subspaces import fit, hits, run_pairs, site_name
    from icalgebra.model.checkpoints import load_model
    from icalgebra.train.distributed import choose_device

    model = load_model("small", choose_device(None))
    site = site_name("attention", model.config.n_layers - 1)
    fit(model, run_pairs(model, counterfactual_pairs("closure", 16)), site, (16,), steps=2)  # warm up
    begin = perf_counter()
    train, test = (run_pairs(model, counterfactual_pairs("closure", n, seed=seed, stream=stream))
                   for n, stream in ((2000, "bench"), (400, "bench/fresh")))  # fmt: skip
    test.base.logits.cpu()  # waits for the device
    between = perf_counter()
    basis = fit(model, train, site, (16,), seed=seed).basis(16).cpu()
    end = perf_counter()
    accuracy = hits(model, test, site, basis.to(model.unembedding.device)).mean()
    unit = f"s ({model.unembedding.device.type})"
    return {"fit_s": end - between, "runs_s": between - begin, "accuracy": float(accuracy), "unit": unit}


def processor_time(work: Callable[[], Any]) -> float:
    begin = process_time()
    work()
    return process_time() - begin


BENCHMARKS: dict[str, Callable[[int], dict[str, Any]]] = {
    "sampler": sampler,
    "distributions": distributions,
    "solvers": solvers,
    "oracle": oracle,
    "ladder": ladder,
    "reliance": reliance,
    "forward": forward,
    "branches": branches,
    "patching": patching,
    "components": components,
    "subspaces": subspaces,
}
