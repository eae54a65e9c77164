"""`icalgebra sample` and `icalgebra bench` on the command line, and bad input to every command."""

import json
import os
import subprocess
import threading

import numpy as np
import pytest

from helpers import candidates, parse, python_arguments
from icalgebra import World, sample
from icalgebra.algebra.table_files import load_structure
from icalgebra.atomic_files import sync_folder, write_text
from icalgebra.cli.main import COMMANDS, main


@pytest.fixture
def run(capsys):
    """Run a command line; returns exit code, standard output and standard error."""

    def call(*arguments):
        with pytest.raises(SystemExit) as caught:
            main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return caught.value.code, captured.out, captured.err

    return call


@pytest.fixture
def lines(run):
    """The output lines of a command that must succeed and print nothing on standard error."""

    def call(*arguments):
        code, out, err = run(*arguments)
        assert (code, err) == (0, "")
        return out.splitlines()

    return call


def test_the_example_of_the_issue_prints_five_solvable_lines(lines):
    printed = lines("sample", "--distribution", "cancel", "--n", 5, "--facts", 50, "--seed", 1)
    assert printed == sample("cancel", 5, 50, seed=1).texts()
    for text in printed:
        *context, (x, y, answer) = parse(text)
        assert len(context) == 49
        assert candidates(context, x, y) == {answer}


def test_the_first_ten_of_twenty_are_the_ten(lines):
    for how in ("text", "jsonl"):
        options = ("sample", "--facts", 9, "--seed", 3, "--format", how)
        assert lines(*options, "--n", 20)[:10] == lines(*options, "--n", 10)


def test_the_defaults_are_ten_training_sequences_of_200_facts(lines):
    assert lines("sample") == sample("train", 10, 200).texts()


def test_jsonl_carries_the_latents(lines):
    options = ("sample", "--distribution", "holdout", "--n", 6, "--facts", 8)
    records = [json.loads(line) for line in lines(*options, "--format", "jsonl")]
    assert records == list(sample("holdout", 6, 8).records())
    assert {"text", "structures", "assignment", "distribution"} <= records[0].keys()
    assert records[2]["distribution"] == "holdout"
    assert [json.loads(line) for line in lines(*options, "--json")] == records


@pytest.mark.parametrize("n", [0, 1, 9000])
def test_npz_holds_the_arrays(lines, tmp_path, n):
    path = tmp_path / "new folder" / "rows.npz"
    assert lines("sample", "--n", n, "--facts", 4, "--format", "npz", "--out", path) == []
    made, loaded = sample("train", n, 4), np.load(path)
    assert set(loaded.files) == {"tokens", "structures", "assignment"}
    for name in loaded.files:
        assert np.array_equal(loaded[name], getattr(made, name))
        assert loaded[name].dtype == getattr(made, name).dtype
    assert list(path.parent.iterdir()) == [path]


def test_out_writes_what_would_be_printed(lines, tmp_path):
    path = tmp_path / "rows.txt"
    path.write_text("old")
    assert lines("sample", "--n", 8500, "--facts", 3, "--out", path) == []
    assert path.read_text().splitlines() == lines("sample", "--n", 8500, "--facts", 3)


def test_out_writes_into_an_existing_pipe(lines, tmp_path):
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()
    assert lines("sample", "--n", 3, "--facts", 2, "--out", pipe) == []
    reader.join(timeout=5)
    assert read
    assert read[0].splitlines() == sample("train", 3, 2).texts()
    assert pipe.is_fifo()


@pytest.mark.parametrize("there", [True, False])
def test_out_follows_a_link(lines, tmp_path, there):
    target, link = tmp_path / "elsewhere" / "rows", tmp_path / "link"
    target.parent.mkdir()
    if there:
        target.write_text("old")
    link.symlink_to("elsewhere/rows")
    assert lines("sample", "--n", 3, "--facts", 2, "--out", link) == []
    assert link.is_symlink()
    assert target.read_text().splitlines() == sample("train", 3, 2).texts()
    assert list(target.parent.iterdir()) == [target]


def test_a_file_is_put_in_place_before_its_folder_is_flushed(tmp_path, monkeypatch):
    flushed = []

    def spy(folder):
        flushed.append((folder, (folder / "new").read_text()))
        sync_folder(folder)

    monkeypatch.setattr("icalgebra.atomic_files.sync_folder", spy)
    write_text(tmp_path / "new", "whole")
    assert flushed == [(tmp_path, "whole")]


@pytest.mark.parametrize("how", ["text", "npz"])
def test_a_failure_leaves_no_half_written_file(run, tmp_path, monkeypatch, how):
    def one_then_failure(*_, **__):
        yield sample("train", 5, 4)
        raise RuntimeError("power cut")

    monkeypatch.setattr("icalgebra.cli.sample.batches", one_then_failure)
    path = tmp_path / "rows"
    path.write_text("old")
    with pytest.raises(RuntimeError, match="power cut"):
        main(["sample", "--n", "9", "--facts", "4", "--format", how, "--out", str(path)])
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_world_options_reach_the_world(lines):
    def printed(*options):
        return lines("sample", "--n", 20, "--facts", 6, *options)

    def made(world):
        return sample("train", 20, 6, world=world).texts()

    assert printed("--p-mix", 0.2) == made(World(p_mix=0.2))
    assert printed("--d2") == made(World(d2=True))
    assert printed("--structures", "C6,D4") == made(World(("C6", "D4")))
    assert printed("--structures", "SmallGroup(16,3),Q8") == made(World(("SmallGroup(16,3)", "Q8")))
    assert printed("--variables", 30) == made(World(n_variables=30))
    assert printed("--reserved", "none") == made(World(reserved=None))
    assert printed("--reserved", "d") == made(World(reserved="d"))
    assert printed("--mixture-rule", "stop") == made(World(mixture_rule="stop"))
    assert printed("--draw", "stop") == printed("--draw=stop") == made(World(mixture_rule="stop"))  # its former name


def test_a_users_table_is_sampled_from_and_described(run, tmp_path):
    table = tmp_path / "mine.csv"
    table.write_text("0,1\n0,1\n")
    for more, structures in (([], ()), (["--structures", "C3"], ("C3",))):
        code, out, err = run("sample", "--n", 20, "--facts", 6, "--table", table, *more)
        assert code == 0
        world = World((*structures, load_structure(table)))
        assert out.splitlines() == sample("train", 20, 6, world=world).texts()
        assert err == "icalgebra: mine: a semigroup of 2 elements, no identity\n"


BAD = {
    "unknown command": (["smaple"], "did you mean 'sample'"),
    "unknown option": (["sample", "--colour", "red"], "--colour"),
    "stray word": (["sample", "train"], "train"),
    "unknown distribution": (["sample", "--distribution", "cancle"], "did you mean 'cancel'"),
    "unknown structure": (["sample", "--structures", "C6,d4"], "did you mean 'D4'"),
    "no structure": (["sample", "--structures", " , "], "names no structure"),
    "None is not offered": (["ask", "--query", "x", ",ab="], "must be holdout or train"),
    "an accuracy of 2": (["speedrun", "--target", "2"], "between 0 and 1"),
    "a negative number of seeds": (["speedrun", "--seeds", "-1"], "--seeds must be at least 0"),
    "no results": (["report", "--results", "folder"], "holds no results"),
    "a rate that is not a number": (["train", "tiny", "--out", "run", "--lr", "nan"], "lr must be a finite number"),
    "an infinite norm": (["train", "tiny", "--out", "run", "--clip", "inf"], "clip must be a finite number"),
    "structure too large": (["sample", "--structures", "C17"], "give it at least 17"),
    "huge structure": (["sample", "--structures", "C900xC900"], "between 1 and 52"),
    "too few facts": (["sample", "--distribution", "cancel", "--facts", "2"], "at least as many facts"),
    "no facts": (["sample", "--facts", "0"], "at least 1"),
    "facts beyond memory": (["sample", "--n", "1", "--facts", "100000000000000"], "memory"),
    "facts beyond any array": (["sample", "--n", "1", "--facts", "4000000000000000000"], "memory"),
    "sequences beyond any array": (["eval", "--n", "4000000000000000000"], "memory"),
    "not a number": (["sample", "--n", "many"], "--n must be a whole number"),
    "negative number": (["sample", "--n", "-1"], "count of sequences"),
    "no value": (["sample", "--seed"], "--seed"),
    "unknown format": (["sample", "--format", "xml"], "jsonl, npz or text"),
    "npz to the screen": (["sample", "--format", "npz"], "--out"),
    "not a probability": (["sample", "--p-mix", "2"], "p_mix"),
    "unknown mixture rule": (["sample", "--mixture-rule", "often"], "all, fit or stop"),
    "unknown reserved variable": (["sample", "--reserved", "z"], "reserved"),
    "too many variables": (["sample", "--variables", "53"], "between 1 and 52"),
    "missing table": (["sample", "--table", "nowhere.csv"], "nowhere.csv"),
    "malformed table": (["sample", "--table", "bad.csv"], "bad.csv: row 2, column 2: '5'"),
    "impossible": (["sample", "--structures", "C2", "--distribution", "associate"], "was found"),
    "out is a folder": (["sample", "--out", "."], "folder"),
    "out is a named folder": (["sample", "--out", "folder"], "folder"),
    "out under a file": (["sample", "--out", "bad.csv/rows"], "cannot write"),
    "unknown benchmark": (["bench", "--only", "sampelr"], "did you mean 'sampler'"),
}


@pytest.mark.parametrize("arguments, reason", BAD.values(), ids=BAD)
def test_bad_input_is_one_line_and_exit_code_2(run, tmp_path, monkeypatch, arguments, reason):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder" / "other" / "thing").mkdir(parents=True)
    (tmp_path / "folder" / "other" / "thing" / "data.json").write_text("{}")
    (tmp_path / "bad.csv").write_text("0,1\n1,5\n")
    code, out, err = run(*arguments)
    assert code == 2
    assert out == ""
    assert len(err.splitlines()) == 1
    assert err.startswith("icalgebra: ")
    assert reason in err
    assert "None" not in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.csv", "folder"]


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"], ["sample", "--help"], ["--version"]])
def test_help_and_version_succeed(run, arguments):
    code, out, err = run(*arguments)
    assert not code
    assert out.strip()
    assert err == ""


@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_readable(run, command):
    """Defaults are not shown as None, and positional arguments have names rather than types."""
    code, out, _ = run(command, "--help")
    assert not code
    assert "None" not in out
    assert "STR]" not in out.splitlines()[0]


def test_every_option_of_sample_is_explained(run):
    _, out, _ = run("sample", "--help")
    for option in ("distribution", "n", "facts", "seed", "format", "out", "p-mix", "d2", "structures", "table", "json"):
        assert f"--{option}" in out


def test_bench_prints_json(run):
    code, out, _ = run("bench", "--json", "--only", "sampler")
    measured = json.loads(out)
    assert code == 0
    assert measured["sampler"]["rate"] > 0
    assert measured["sampler"]["ratio"] == pytest.approx(measured["sampler"]["rate"] / 830, rel=0.01)
    assert measured["peak_memory_mb"] > 0


def test_the_program_runs_on_its_own_and_a_closed_pipe_is_not_an_error():
    code = "from icalgebra.cli import main; main(['sample', '--n', '20000', '--facts', '5'])"
    with subprocess.Popen(python_arguments(code), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        first = process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 0
    assert [first.strip()] == sample("train", 1, 5).texts()


STREAM = """
import resource, sys
from icalgebra.cli.main import main

def peak(n):
    for how in ("text", "jsonl", "npz"):
        try:
            main(["sample", "--n", str(n), "--facts", "200", "--format", how, "--out", sys.argv[1]])
        except SystemExit as end:
            assert not end.code
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

one_batch = peak(8192)
print(peak(60000) - one_batch)
"""


def test_a_big_sample_streams_to_disk(tmp_path):
    done = subprocess.run(
        [*python_arguments(STREAM), str(tmp_path / "rows")], capture_output=True, text=True, check=True, timeout=120
    )
    assert (tmp_path / "rows").stat().st_size > 60_000_000
    assert int(done.stdout.split()[-1]) < 30, "memory grew with the number of rows (MB)"
