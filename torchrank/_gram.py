"""``python -m torchrank gram``: kernels or neighbors from a file to files, alone or under ``torchrun``."""

import argparse
import re
import shlex
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy import sparse

from torchrank._version import __version__
from torchrank.datasets import read_rankings
from torchrank.kernels import kendall_gram
from torchrank.kernels.block_stream import digest
from torchrank.kernels.kendall_arguments import VARIANTS
from torchrank.kernels.pair_stream import facts_of
from torchrank.ops.rank import as_rankings
from torchrank.processes import Group, rank_of, started_by_torchrun, together, told
from torchrank.rankings.missing import MISSING
from torchrank.storage.files import write_array
from torchrank.storage.record import Record
from torchrank.stream import kendall_neighbors

_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_OPTIONS = {"block": "--block", "k": "--neighbors", "missing": "--missing", "rankers": "--rankers"}
_OPTIONS |= {"variant": "--variant", "device": "--device"}
_QUOTES = "'\""
_ARGUMENT = re.compile(rf"\b({'|'.join(_OPTIONS)})=('[^']*'|\"[^\"]*\"|[\w.+-]+)")
_NAME = re.compile(rf"\b({'|'.join(_OPTIONS)})=(?!\w)")
_WORDS = {  # first to last
    "call again with resume=True": "run the same command again",
    "call again (a matrix in out= with resume=True)": "run the same command again",
    "pass header=False": "pass --no-header",
    ", header=True if it names the columns": "; columns whose names are numbers are read from .npy alone",
}
_OTHERS = re.compile(r"\b(decimal|delimiter|encoding|features|form|gaps|header|items|lenient|sparse|weights)=")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Of the command ``gram``."""
    parser.add_argument(
        "input",
        type=Path,
        help="scores, one ranking a row, larger = preferred: .npy, .csv or .tsv with a column an item, or .npz of a "
        "scipy.sparse matrix, whose entries that are not stored are unranked",
    )
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="DIR",
        help="folder for gram.npy, or for indices.npy and values.npy of neighbors",
    )
    parser.add_argument("--neighbors", type=int, metavar="K", help="the K nearest of each, not the whole matrix")
    parser.add_argument("--missing", choices=MISSING, help="what unranked items mean; by default they are an error")
    parser.add_argument("--variant", choices=VARIANTS, help="of the Kendall kernel")
    parser.add_argument("--block", type=int, metavar="ROWS", help="rows and columns of a block")
    parser.add_argument("--rankers", metavar="COLUMN", help="of a .csv or .tsv file, the column of names of rankings")
    parser.add_argument("--no-header", action="store_true", help="a .csv or .tsv file begins with scores, not names")
    parser.add_argument("--device", type=_device, help="where to compute; by default cuda if there is one, else cpu")


def gram(arguments: argparse.Namespace) -> int:
    """Compute what was asked for; returns the exit status. Errors of users are one line, without a traceback."""
    try:
        with started_by_torchrun() as group:
            _run(arguments, group)
    except (OSError, ValueError, TypeError, RuntimeError, ImportError) as error:
        print(f"python -m torchrank gram: {_in_options(str(error))}", file=sys.stderr)
        return 1
    return 0


def _device(name: str) -> str:
    """The name of a device that is there; argparse shows what else is wrong with it beside the usage."""
    try:
        device = torch.device(name)
        if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():  # asked without waking a card
            raise RuntimeError(f"torch {torch.__version__} finds {torch.cuda.device_count()} CUDA devices here")
        if device.type == "meta":
            raise RuntimeError("it holds no numbers")
        if device.type != "cuda":
            torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        why = re.split(r"\n|\. ", str(error))[0]
        raise argparse.ArgumentTypeError(f"{name!r} is no device to use here: {why}; give cpu, or none") from None
    return name


def _in_options(message: str) -> str:
    """A message of the library, which names arguments of Python, in the options of the command line."""
    for words, option in _WORDS.items():
        message = message.replace(words, option)
    message = _ARGUMENT.sub(lambda found: f"{_OPTIONS[found[1]]} {shlex.quote(found[2].strip(_QUOTES))}", message)
    message = _NAME.sub(lambda found: _OPTIONS[found[1]], message)
    if _OTHERS.search(message):
        message += " (what is written with = is an argument of torchrank.datasets.read_rankings in Python, which reads "
        message += "more kinds of files: save the scores of its result with numpy.save)"
    return message


def _run(asked: argparse.Namespace, group: Group) -> None:
    first = rank_of(group) == 0
    device = asked.device or ("cuda" if torch.cuda.is_available() else "cpu")
    with together(group):
        rankings = as_rankings(_scores(asked), missing=asked.missing).to(device)
        if first:
            if asked.out.exists() and not asked.out.is_dir():
                raise FileExistsError(f"--out {asked.out} is a file; give the name of a folder")
            try:
                asked.out.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                why = f"--out {asked.out}: no folder can be made there ({error.strerror}); give the name of another"
                raise OSError(why) from error
    common: dict[str, Any] = {"variant": asked.variant, "block": asked.block, "progress": True, "group": group}
    if asked.neighbors is None:
        path = asked.out / "gram.npy"
        matrix = kendall_gram(rankings, out=path, resume=True, **common)
        shown = f"{path}: kernels of {len(matrix)} rankings, {matrix.dtype}"
    else:
        shown = _neighbors(rankings, asked, common, group)
    if first:
        print(shown)


def _neighbors(rankings: Any, asked: argparse.Namespace, common: dict[str, Any], group: Group) -> str:
    """Write the neighbors, unless the same command has; returns what to say.

    The record is begun before the arrays, which are written whole one after the other. So a run that was killed between
    them is known by the next one, which writes both anew.
    """
    paths = [asked.out / "indices.npy", asked.out / "values.npy"]
    record = Record(asked.out / "neighbors.json", *paths)
    plan: dict[str, Any] = {}
    done = False
    with together(group):
        if rank_of(group) == 0:
            plan = {"neighbors": asked.neighbors, "variant": asked.variant, "input": digest(facts_of(rankings))}
            plan = {"torchrank": __version__, **plan}
            done = record.holds(plan)
            objection = record.objection(plan)
            if objection is not None:
                raise FileExistsError(objection)
    named = f"{paths[0]} and {paths[1].name}"
    if told(done, group)[0]:
        return f"{named}: there already, {asked.neighbors} of {len(rankings)} rankings for each"
    near = kendall_neighbors(rankings, asked.neighbors, **common)
    with together(group):
        if rank_of(group) == 0:
            record.begin(plan)
            for path, values in zip(paths, near, strict=True):
                write_array(path, np.asarray(values))
            record.write(plan)
    return f"{named}: {near!r}"


def _scores(asked: argparse.Namespace) -> Any:
    """The rankings in a file, by the end of its name."""
    path, rankers = asked.input, asked.rankers
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not there, or no file; expected .npy, .csv, .tsv, or .npz of scipy.sparse")
    if path.suffix in _DELIMITERS:
        header = False if asked.no_header else None  # None looks for one
        return read_rankings(path, form="scores", rankers=rankers, delimiter=_DELIMITERS[path.suffix], header=header)
    if rankers is not None:
        raise ValueError(f"--rankers names a column of a .csv or .tsv file; {path.name} has none")
    if asked.no_header:
        raise ValueError(f"--no-header is for .csv and .tsv files; {path.name} has no names")
    if path.suffix == ".npy":
        return _array(path)
    if path.suffix == ".npz":
        try:
            return sparse.load_npz(path)
        except (ValueError, zipfile.BadZipFile) as error:
            raise ValueError(f"{path} holds no matrix of scipy.sparse.save_npz ({error})") from error
    raise ValueError(f"{path} does not end in .npy, .csv, .tsv or .npz; save the scores as one of them")


def _array(path: Path) -> np.ndarray:
    try:
        scores = np.load(path, mmap_mode="c")  # whose pages are read when they are ranked; torch wants it writable
    except (ValueError, EOFError) as error:  # whose words advise to load what is not safe
        raise ValueError(f"{path} holds no array of numbers that numpy.save has written") from error
    if scores.ndim != 2:
        raise ValueError(f"{path} has shape {scores.shape}; expected one matrix (rankings, items)")
    return scores
