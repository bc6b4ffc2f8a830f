"""A link that is slow: `slow_link.py PORT TARGET SECONDS` passes on what comes to one port, so many seconds later."""

import asyncio
import socket
import sys


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay: float) -> None:
    loop, queue = asyncio.get_running_loop(), asyncio.Queue[tuple[float, bytes]]()

    async def read() -> None:
        while data := await reader.read(1 << 16):
            queue.put_nowait((loop.time() + delay, data))
        queue.put_nowait((loop.time() + delay, b""))

    reading = asyncio.create_task(read())
    try:
        while True:
            at, data = await queue.get()
            while (left := at - loop.time()) > 0:
                await asyncio.sleep(left)
            if not data:
                break
            writer.write(data)
            await writer.drain()
    except OSError:
        pass  # one of the two sides is gone
    finally:
        reading.cancel()
        writer.close()


async def _serve(port: int, target: int, delay: float) -> None:
    async def joined(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", target)
        for each in (writer, back):
            each.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await asyncio.gather(_pass_on(reader, back, delay), _pass_on(there, writer, delay))

    server = await asyncio.start_server(joined, "127.0.0.1", port)
    sys.stdout.write("up\n")
    sys.stdout.flush()
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])))
