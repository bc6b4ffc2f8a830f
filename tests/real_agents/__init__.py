"""The coding agents themselves, installed from npm in exact versions, with mulligan's hooks and a scripted model.

`packages.py` installs them, `agent_programs.py` knows how each is configured and called, `scripted_model.py` answers in
place of a model. `nox -s agents` runs the files that pytest does not collect by itself, such as `each_agent.py`.
"""
