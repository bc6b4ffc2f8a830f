HOST = "localhost"
PORT = 8080


def address():
    return f"http://{HOST}:{PORT}"
