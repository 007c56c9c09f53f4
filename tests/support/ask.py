"""A page of a program on loopback, asked as kubelet does."""

import urllib.error
import urllib.request


def ask(port: int, page: str) -> tuple[int, str]:
    """Status and text; status 0 and the reason where nobody answers."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{page}", timeout=5) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()
    except OSError as error:
        return 0, str(error)
