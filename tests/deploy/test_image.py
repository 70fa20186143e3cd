"""The Dockerfile follows its rules. `make image-steps` carries it out."""

import re
import tomllib

import pytest

from tests.architecture import PACKAGES, ROOT
from tests.deploy.image import Step, context, copied, expanded, image

PLAN = image()
FILES = context()
RUNS = [(stage, step) for stage in PLAN.stages for step in stage.of("RUN")]
SECRET = re.compile(r"(?i)secret|password|token|api_?key")


def commands(step: Step) -> list[str]:
    return [each.strip() for each in step.words[0].split("&&")]


def test_the_base_is_a_slim_debian_with_a_version_and_is_named_once() -> None:
    assert re.fullmatch(r"debian:\d+\.\d+-slim", PLAN.arguments["BASE"])
    assert {stage.base for stage in PLAN.stages} == {PLAN.arguments["BASE"]}


def test_all_python_packages_come_from_locks_with_hashes_or_from_the_sources() -> None:
    installs = [each for _, step in RUNS for each in commands(step) if re.search(r"\bpip\b.* (install|wheel)\b", each)]
    assert len(installs) == 4
    for each in installs:
        assert "--no-deps" in each
        assert "--no-cache-dir" in each
        assert ("--require-hashes" in each) != ("--no-index" in each), each
    named = re.findall(r"--requirement (\S+)", " ".join(installs))
    assert named == ["requirements/build.lock", "requirements/run.lock"]


def test_the_lock_of_the_build_names_the_builder_of_pyproject() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    [builder] = project["build-system"]["requires"]
    assert project["dependency-groups"]["build"] == [builder]
    assert f"{builder} " in (ROOT / "requirements/build.lock").read_text(encoding="utf-8")


def test_debian_packages_bring_no_others_and_leave_no_lists() -> None:
    for stage, step in RUNS:
        installs = [each for each in commands(step) if each.startswith("apt-get install")]
        if installs:
            assert all("--no-install-recommends" in each for each in installs)
            assert "rm -rf /var/lib/apt/lists/*" in step.words[0]
        if stage is PLAN.final:
            assert [each.split()[-1] for each in installs] in ([], ["python3"]), "the image has Python and no tools"


def test_the_image_copies_the_environment_alone() -> None:
    [step] = PLAN.final.of("COPY")
    assert step.flags == {"from": PLAN.stages[0].name}
    assert step.words == ("/opt/catalog-service", "/opt/catalog-service")


def test_the_build_gets_the_sources_of_the_wheel_and_nothing_else() -> None:
    sources = [word for step in PLAN.stages[0].of("COPY") for word in step.words[:-1]]
    taken = set().union(*(copied(source, FILES) for source in sources))
    assert all(copied(source, FILES) for source in sources)
    assert taken == FILES - {"Dockerfile", ".dockerignore"}
    assert {path.partition("/")[0] for path in taken} >= {
        *PACKAGES,
        "pyproject.toml",
        "config.toml",
        "README.md",
        "LICENSE",
    }
    assert not [path for path in taken if path.endswith((".pyc", ".toml.local"))]


def test_the_process_is_an_ordinary_user_by_number() -> None:
    user = PLAN.final.only("USER").words[0]
    assert re.fullmatch(r"[1-9]\d{3,}:[1-9]\d{3,}", user), "Kubernetes can tell only from a number that it is not root"
    kinds = [step.kind for step in PLAN.final.steps]
    assert kinds.index("USER") > max(place for place, kind in enumerate(kinds) if kind in ("RUN", "COPY"))


def test_the_health_check_asks_the_port_that_the_image_listens_on() -> None:
    environment = {name: value for step in PLAN.final.of("ENV") for name, value in step.pairs()}
    host, _, port = environment["CATALOG__SERVER__BIND"].partition(":")
    assert host == "0.0.0.0"
    assert PLAN.final.only("EXPOSE").words == (port,)
    check = PLAN.final.only("HEALTHCHECK")
    assert check.exact
    assert f"'127.0.0.1', {port}, " in check.words[-1]
    assert "'/healthz'" in check.words[-1]
    assert set(check.flags) == {"interval", "timeout", "start-period", "retries"}


def test_it_starts_and_stops_without_a_shell() -> None:
    final = PLAN.final
    assert final.only("ENTRYPOINT").exact
    assert final.only("ENTRYPOINT").words == ("catalog-service",)
    assert final.only("CMD").exact
    assert final.only("STOPSIGNAL").words == ("SIGTERM",)
    [volume] = final.only("VOLUME").words
    assert final.only("CMD").words == ("serve", "--data-dir", volume)


def test_the_image_holds_no_secret_and_says_what_it_is() -> None:
    for stage in PLAN.stages:
        names = [name for kind in ("ENV", "ARG") for step in stage.of(kind) for name, _ in step.pairs()]
        assert not list(filter(SECRET.search, names))
    arguments = {name: f"the {name}" for step in PLAN.final.of("ARG") for name, _ in step.pairs()}
    labels = {name: expanded(value, arguments) for name, value in PLAN.final.only("LABEL").pairs()}
    assert labels["org.opencontainers.image.version"] == "the VERSION"
    assert labels["org.opencontainers.image.revision"] == "the REVISION"
    assert labels["org.opencontainers.image.licenses"] == "MIT"


@pytest.mark.parametrize("text", ["FROM x\nADD a b\n", "FROM x\nRUN <<E\na\nE\n", "FROM x\nONBUILD RUN a\n"])
def test_an_instruction_that_image_steps_cannot_carry_out_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="line 2"):
        image(text)
