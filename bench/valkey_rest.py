"""What twenty Valkeys cost when nothing happens: requests to the API server, memory of operator and agents."""

import argparse

from bench.at_rest import rest
from bench.results_file import append
from tests.e2e.cluster import cluster_under_test
from tests.e2e.valkeys import valkey

VALKEYS = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="of rest (default: %(default)s)")
    args = parser.parse_args()
    manifests = [valkey(f"rest{index}") for index in range(VALKEYS)]
    figures = rest(cluster_under_test(), "valkey", manifests, args.seconds)
    print(f"{figures}\nkept in {append('valkey_rest', figures)}")


if __name__ == "__main__":
    main()
