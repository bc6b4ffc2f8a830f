"""Two steps of the plan: they get a context, and keep in its `state` what the next one needs."""

import configparser
import json


def collect(context):
    """Find the settings in app.py."""
    lines = (context.path() / "app.py").read_text().splitlines()
    pairs = (line.partition(" = ") for line in lines if line.partition(" = ")[0].isupper())
    context.state["settings"] = {name.lower(): value.strip('"') for name, _, value in pairs}
    return len(context.state["settings"])


def write(context, *, format):
    """Write them as what was decided, with the reason on top where the format has room for one."""
    settings = context.state["settings"]
    if format == "json":
        (context.path() / "settings.json").write_text(json.dumps(settings, indent=2) + "\n")
        return "settings.json"
    ini = configparser.ConfigParser()
    ini["app"] = settings
    with (context.path() / "settings.ini").open("w") as file:
        file.write(f"# {context.guidance}\n")
        ini.write(file)
    return "settings.ini"
