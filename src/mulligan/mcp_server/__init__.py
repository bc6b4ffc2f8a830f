"""The front door for agents that speak the Model Context Protocol: tools over stdin and stdout.

`tool_table` lists the tools; JSON schemas are made of the types in `tool_arguments` and `tool_results`. `look_tools`,
`return_tools` and `run_tools` do their work with operations of the API; `tool_work` has what each call needs.
`protocol_calls` and `stdio_service` speak the protocol, with the official SDK, which nothing else imports.
"""
