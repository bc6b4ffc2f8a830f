"""A link to a server that can be cut: `python -m tests.support.tcp_link SOCKET`, with commands on stdin.

It prints its port. `reset` drops all connections, `hole` swallows what comes until `mend`, and `delay SECONDS` slows
it down.
"""

import asyncio
import sys
from contextlib import suppress


class Link:
    """A proxy in front of a server's socket."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._writers: set[asyncio.StreamWriter] = set()
        self._is_open = asyncio.Event()
        self._is_open.set()
        self._delay = 0.0
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self) -> None:
        """Serve until stdin ends."""
        server = await asyncio.start_server(self._connect, "127.0.0.1", 0)
        print(server.sockets[0].getsockname()[1], flush=True)
        reader = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
        )
        while line := (await reader.readline()).decode().split():
            match line:
                case ["reset"]:
                    for writer in list(self._writers):
                        writer.transport.abort()
                case ["hole"]:
                    self._is_open.clear()
                case ["mend"]:
                    self._is_open.set()
                case ["delay", seconds]:
                    self._delay = float(seconds)
                case _:
                    raise ValueError(line)
            print("ok", flush=True)

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, back = await asyncio.open_unix_connection(self._place)
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, back}
        pumps = [asyncio.create_task(self._pump(*ends)) for ends in ((reader, back), (there, writer))]
        self._tasks.update(pumps)
        await asyncio.gather(*pumps)
        self._tasks.difference_update(pumps)
        self._writers -= {writer, back}

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(65536):
                await self._is_open.wait()
                if self._delay:
                    await asyncio.sleep(self._delay)
                writer.write(data)
                await writer.drain()
        writer.close()


if __name__ == "__main__":
    asyncio.run(Link(sys.argv[1]).serve())
