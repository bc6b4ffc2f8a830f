"""Files that are ours as a whole: the plugin for opencode, and the manifest of the one for Goose."""

import json
from collections.abc import Collection, Sequence

MARK = "written by: mulligan agent install"  # such a file has it

GOOSE_PLUGIN = f"""\
{{
  "name": "mulligan",
  "version": "1.0.0",
  "description": "Checkpoints of the folder that goose works in; {MARK}"
}}
"""


def opencode_plugin(words: Sequence[str], readers: Collection[str], *, strict: bool) -> str:
    """Return the module that opencode loads; it calls mulligan with these words, but not for tools that only read."""
    facts = {
        "MARKED": MARK,
        "WORDS": json.dumps(words),
        "STRICT_MODE": json.dumps(strict),
        "READING": json.dumps(sorted(readers)),
    }
    text = _OPENCODE_PLUGIN
    for name, value in facts.items():
        text = text.replace(name, value, 1)
    return text


# It reports sessions, prompts and calls that may write, and waits for the answer before a call goes on. Sessions of
# subagents are reported under the session that started them.
_OPENCODE_PLUGIN = """\
// MARKED; to remove it: mulligan agent uninstall opencode
import { spawn } from "node:child_process"

const COMMAND = WORDS
const STRICT = STRICT_MODE
const READERS = new Set(READING)
const LIMIT_MS = 60000

function call(hook, payload) {
  return new Promise((resolve) => {
    const [program, ...words] = COMMAND
    const child = spawn(program, [...words, hook], { stdio: ["pipe", "pipe", "pipe"], timeout: LIMIT_MS })
    const out = [], err = []
    child.stdout.on("data", (data) => out.push(data))
    child.stderr.on("data", (data) => err.push(data))
    child.on("error", (error) => resolve({ code: -1, out: "", err: String(error) }))
    const text = (parts) => Buffer.concat(parts).toString()
    child.on("close", (code) => resolve({ code, out: text(out), err: text(err) }))
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify(payload))
  })
}

export const Mulligan = async ({ directory, client }) => {
  const parents = new Map()
  const reverted = new Map()
  const root = (id) => {
    let session = id
    while (parents.has(session)) session = parents.get(session)
    return session
  }
  const report = async (hook, id, facts) => {
    const session = root(id)
    const child = session === id ? undefined : id
    const done = await call(hook, { hook, directory, session, child, ...facts })
    let message
    try {
      message = JSON.parse(done.out || "{}").message
    } catch {
      message = undefined
    }
    if (message) {
      try {
        await client.tui.showToast({ body: { message, variant: "warning" } })
      } catch {}
    }
    return done
  }
  return {
    event: async ({ event }) => {
      const facts = event.properties ?? {}
      if (event.type === "session.created" && facts.info?.parentID) parents.set(facts.info.id, facts.info.parentID)
      if (event.type === "session.created" || event.type === "session.idle") {
        await report(event.type, facts.sessionID ?? facts.info?.id, { properties: facts })
      }
      if (event.type === "session.updated" && facts.info) {
        const { id, revert } = facts.info
        const before = reverted.get(id)
        reverted.set(id, revert?.messageID)
        const properties = { sessionID: id, info: { revert: { messageID: revert?.messageID } } }
        if (revert?.messageID && before !== revert.messageID) await report(event.type, id, { properties })
      }
    },
    "chat.message": async (input, output) => {
      const parts = output.parts.filter((part) => part.type === "text").map((part) => ({ text: part.text }))
      await report("chat.message", input.sessionID, { input, output: { message: { id: output.message.id }, parts } })
    },
    // The commands of the agent get the id of their session, by which processes that they leave running are recognised.
    "shell.env": async (input, output) => {
      if (output?.env && input?.sessionID) output.env.OPENCODE_SESSION_ID = root(input.sessionID)
    },
    "tool.execute.before": async (input, output) => {
      if (READERS.has(input.tool)) return
      const done = await report("tool.execute.before", input.sessionID, { input, output: { args: output.args } })
      if (done.code === 2 || (STRICT && done.code !== 0)) throw new Error(done.err.trim() || "mulligan failed")
    },
    "tool.execute.after": async (input, output) => {
      if (READERS.has(input.tool)) return
      const metadata = { exit: output.metadata?.exit, error: output.metadata?.error }
      await report("tool.execute.after", input.sessionID, { input, output: { metadata } })
    },
  }
}
"""
