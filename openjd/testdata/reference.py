"""Asks the reference implementation about templates: a line of JSON for each, in and out.

It is run by TestReference with the folder of openjd-model-for-python as its argument.
"""
import json
import pathlib
import sys
import types

# A release makes this module; a checkout has none.
version = types.ModuleType("openjd.model._version")
version.version = "0.4.2"
version.__version__ = "0.4.2"
sys.modules["openjd.model._version"] = version
sys.path.insert(0, sys.argv[1] + "/src")

from openjd.model import StepParameterSpaceIterator, create_job, decode_job_template, preprocess_job_parameters


def step(s):
    """The number of tasks of a step, and the values of some."""
    space = StepParameterSpaceIterator(space=s.parameterSpace)
    n = len(space)
    tasks = []
    for i in sorted({0, 1 % n, n // 3, n // 2, n - 1}):
        values = {name: v.value for name, v in space[i].items()}
        tasks.append({"number": i, "values": values})
    return {"name": s.name, "count": n, "tasks": tasks}


def answer(question):
    out = {"stage": "read"}
    try:
        template = decode_job_template(template=question["template"])
        out["stage"] = "job"
        values = preprocess_job_parameters(
            job_template=template,
            job_parameter_values=question["values"],
            job_template_dir=pathlib.Path(question["templateDir"]),
            current_working_dir=pathlib.Path(question["workingDir"]),
        )
        job = create_job(job_template=template, job_parameter_values=values)
        out["name"] = job.name
        out["values"] = {name: p.value for name, p in (job.parameters or {}).items()}
        out["steps"] = [step(s) for s in job.steps]
    except Exception as e:
        out["error"] = f"{type(e).__name__}: {e}"
    return out


for line in sys.stdin:
    print(json.dumps(answer(json.loads(line))), flush=False)
