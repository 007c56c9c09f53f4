"""`make generate`: the files under config/ and in the chart that follow from other files."""

from pathlib import Path

from tools.admission import admission_policies
from tools.chart import CHART, render_readme, render_template
from tools.embedded import kubernetes_type
from tools.plain_manifests import plain_manifests
from tools.yaml_text import REPOSITORY, render_yaml
from valkey_operator.api.crd import KINDS, render_crd

_TEMPLATES = str(CHART.relative_to(REPOSITORY) / "templates")


def generated_files() -> dict[str, str]:
    """Every file that follows from the code: its path in the repository, and its text."""
    crds = [render_crd(kind, kubernetes_type) for kind in KINDS]
    sources = {f"crd/{each['metadata']['name'].split('.')[0]}.yaml": [each] for each in crds}
    sources |= {f"admission/{name}": objects for name, objects in admission_policies().items()}
    config = {f"config/{name}": render_yaml(*objects) for name, objects in sources.items()}
    templates = {
        f"{_TEMPLATES}/{name}": render_template(name.split("/")[0], *objects) for name, objects in sources.items()
    }
    return config | templates | {str(CHART.relative_to(REPOSITORY) / "README.md"): render_readme()}


def generated_folders() -> set[Path]:
    """The folders in which everything is generated."""
    return {REPOSITORY / parent / kind for parent in ("config", _TEMPLATES) for kind in ("crd", "admission")}


def write(files: dict[str, str]) -> None:
    for name, text in files.items():
        (REPOSITORY / name).parent.mkdir(parents=True, exist_ok=True)
        (REPOSITORY / name).write_text(text)


def main() -> None:
    """Write what has changed, and remove what is generated no more."""
    wanted = generated_files()
    write(wanted)
    for folder in generated_folders():
        for file in folder.glob("*.yaml"):
            if str(file.relative_to(REPOSITORY)) not in wanted:
                file.unlink()
    # From the chart, so only now that it is up to date.
    write(plain_manifests())


if __name__ == "__main__":
    main()
