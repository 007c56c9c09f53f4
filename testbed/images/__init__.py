"""Container images without a registry and without Docker: from Debian packages, Go modules and the Containerfile.

Lives here: recipes (`debian`, `golang`, `containerfile`), the `catalogue` of images made by them, the archive format
(`oci`, `tree`), the cache (`store`, `workshop`), and Valkey as a process of this machine (`rootfs`).
Standard library only. Must not live here: anything about nodes or Kubernetes; `testbed.node_images` loads archives.
"""

from testbed.images.shelf import build_all

__all__ = ["build_all"]
