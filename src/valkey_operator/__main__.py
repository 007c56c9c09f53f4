"""`python -m valkey_operator` is the same program as `valkey-operator`."""

import sys

from valkey_operator.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
