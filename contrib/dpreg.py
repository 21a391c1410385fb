"""dpreg from Python: calls the program, and gives DataFrames, or lists where pandas is not there.

    import dpreg
    fit = dpreg.infer("people.release.json", formula="income ~ age + educ")
    fit.summary                      # a row for each parameter
    fit.draws                        # .chain, .iteration, .draw, and a column for each parameter
    fit.ask("educ > 0", "educ = 20*age")
    fit.predict("new.csv")           # or rows: a DataFrame, or a list of dicts
    fit.to_arviz()                   # where ArviZ is installed

A release holds no rows, so nothing here costs privacy. Rows are released by the program itself,
`dpreg release`, which is not called from here: it spends epsilon.

Needs Python 3.9. dpreg.PROGRAM is the program's path where it is not on the PATH.
"""

import csv
import glob
import io
import json
import os
import re
import subprocess
import tempfile
import warnings

PROGRAM = "dpreg"


class Error(Exception):
    """What the program says where it fails."""


def run(*args):
    """Runs dpreg and returns its standard output. Exit code 4, chains that did not converge, is a
    warning; any other but 0 an Error."""
    done = subprocess.run([PROGRAM, *map(str, args)], capture_output=True, text=True, encoding="utf-8")
    if done.returncode == 4 or done.returncode == 0 and done.stderr:
        warnings.warn(done.stderr.strip(), stacklevel=3)
    elif done.returncode != 0:
        raise Error(done.stderr.strip())
    return done.stdout


def _flags(flags):
    """Flags of keyword arguments: pooling="partial", what_if=True, prior=["a ~ normal(0, 1)"]."""
    out = []
    for name, values in flags.items():
        flag = "--" + name.replace("_", "-")
        for value in values if isinstance(values, (list, tuple)) else [values]:
            out += [f"{flag}={str(value).lower()}"] if isinstance(value, bool) else [flag, str(value)]
    return out


def _cell(text):
    if text in ("NA", "", "NaN"):
        return None
    if text in ("TRUE", "FALSE"):
        return text == "TRUE"
    try:
        return float(text)
    except ValueError:
        return text


def _frame(rows):
    """A DataFrame of dicts, or the dicts where pandas is not there."""
    try:
        import pandas
    except ImportError:
        return rows
    return pandas.DataFrame(rows)


def _read(text):
    return _frame([{k: _cell(v) for k, v in row.items()} for row in csv.DictReader(io.StringIO(text))])


class Fit:
    """A posterior: the files that `dpreg infer --save` wrote to a directory."""

    def __init__(self, directory):
        self.dir = str(directory)
        with open(os.path.join(self.dir, "summary.json"), encoding="utf-8") as file:
            self.json = json.load(file)
        self.summary = _frame(self.json["parameters"])

    def chains(self):
        """The draws, for each chain a dict of lists by the names of the files' columns."""
        paths = glob.glob(os.path.join(glob.escape(self.dir), "draws-*.csv"))
        chains = []
        for path in sorted(paths, key=lambda p: int(re.findall(r"\d+", os.path.basename(p))[0])):
            with open(path, newline="", encoding="utf-8") as file:
                rows = csv.reader(line for line in file if not line.startswith("#"))
                names = next(rows)
                columns = zip(*([float(cell) for cell in row] for row in rows))
                chains.append({n: list(c) for n, c in zip(names, columns) if not n.endswith("__")})
        return chains

    @property
    def draws(self):
        """A row for each draw, as R's package posterior numbers them."""
        rows = []
        for c, chain in enumerate(self.chains(), 1):
            for i, values in enumerate(zip(*chain.values()), 1):
                rows.append({".chain": c, ".iteration": i, ".draw": len(rows) + 1, **dict(zip(chain, values))})
        return _frame(rows)

    def ask(self, *questions, level=0.95):
        """Answers of `dpreg ask`, a row for each question; without one R2, standardised slopes, means,
        sds and correlations."""
        return _read(run("ask", self.dir, *questions, "--format", "csv", "--level", level))

    def predict(self, rows, mean=False, level=0.95):
        """The rows with .fitted, .sd, .lower, .upper and .outside; mean: of the regression line."""
        path = rows
        with tempfile.TemporaryDirectory() as folder:
            if not isinstance(rows, (str, os.PathLike)):
                path = os.path.join(folder, "rows.csv")
                rows = rows.to_dict("records") if hasattr(rows, "to_dict") else rows
                with open(path, "w", newline="", encoding="utf-8") as file:
                    out = csv.DictWriter(file, list(rows[0]))
                    out.writeheader()
                    out.writerows(rows)
            return _read(run("predict", "--draws", self.dir, path, "--level", level, *["--mean"] * mean))

    def to_arviz(self):
        """ArviZ's InferenceData, parameters by their names."""
        import arviz
        import numpy

        chains = self.chains()
        return arviz.from_dict({name: numpy.array([chain[name] for chain in chains]) for name in chains[0]})


def infer(*releases, formula=None, directory=None, **flags):
    """The posterior given one release or several. Keywords are flags of `dpreg infer`, such as
    prior="educ ~ normal(4000, 2000)" or seed=1."""
    directory = directory or tempfile.mkdtemp(prefix="dpreg")
    of = ["--formula", formula] if formula else []
    run("infer", *releases, *of, *_flags(flags), "--quiet", "--names", "labels", "--save", directory)
    return Fit(directory)
