"""The documentation says what is there now, no more and no less."""

from __future__ import annotations

import html
import re
from pathlib import Path

import click
import pytest

from claude_session_player import __version__, errors
from claude_session_player.cli.app import COMMANDS, app
from claude_session_player.cli.help import TOPICS
from claude_session_player.redact import Kind
from claude_session_player.redact.rules import SECRET_RULES
from claude_session_player.redact.rules.ai import AI_RULES
from claude_session_player.redact.rules.assignments import ASSIGNMENT_RULES
from claude_session_player.redact.rules.cloud import CLOUD_RULES
from claude_session_player.redact.rules.code_hosting import CODE_RULES
from claude_session_player.redact.rules.commands import COMMAND_RULES
from claude_session_player.redact.rules.keys import KEY_RULES
from claude_session_player.redact.rules.named import NAMED_RULES
from claude_session_player.redact.rules.products import PRODUCT_RULES
from claude_session_player.redact.rules.prose import PROSE_RULES
from claude_session_player.redact.rules.requests import REQUEST_RULES
from claude_session_player.redact.rules.services import SERVICE_RULES
from claude_session_player.tui.keys import BROWSE_KEYS, MOTION_KEYS, NEXT_HIT, PLAYER_KEYS, RUNNING_KEYS, Key
from scripts import check_site, cli_reference, doc_examples, screens
from tests.screens import IS_LOWEST, svg_text

by_newest = pytest.mark.skipif(IS_LOWEST, reason="made by the newest version of click, which wraps differently")
ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PROJECT_PAGES = [ROOT / f"{name}.md" for name in ("ARCHITECTURE", "CHANGELOG", "CONTRIBUTING", "SECURITY")]
TASK_PAGES = [page for page in doc_examples.PAGES if page != cli_reference.PATH]
BY_TASK = "".join(page.read_text(encoding="utf-8") for page in TASK_PAGES)
LINKED_PAGES = [*doc_examples.PAGES, *PROJECT_PAGES]


def page_id(page: Path) -> str:
    """A page's name in the report of a test."""
    return page.name


@by_newest
def test_the_cli_reference_is_what_help_says() -> None:
    assert cli_reference.PATH.read_text(encoding="utf-8") == cli_reference.reference(), "run 'make docs'"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_documented(name: str) -> None:
    command = app.get_command(click.Context(app), name)
    assert command is not None
    for one in (command, *getattr(command, "commands", {}).values()):
        assert one.help
        assert all(param.help for param in one.params if isinstance(param, click.Option))
    assert f"## claude-session-player {name}" in cli_reference.PATH.read_text(encoding="utf-8")
    assert re.search(rf"\b{name}\b", BY_TASK)


def test_the_exit_codes_of_the_help_are_those_of_the_errors() -> None:
    page = (DOCS / "troubleshooting.md").read_text(encoding="utf-8")
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.SessionError)]
    for code in {kind.exit_code for kind in kinds} | {130}:
        assert re.search(rf"^ +{code} +\w", TOPICS["exit-codes"][1](), re.MULTILINE)
        assert re.search(rf"^\| {code} \| [\w`]", page, re.MULTILINE)


@pytest.mark.parametrize(
    ("heading", "keys"),
    [
        ("Play a session", (*PLAYER_KEYS, *MOTION_KEYS)),
        ("Follow a running session", RUNNING_KEYS),
        ("Browse all sessions", (*BROWSE_KEYS, NEXT_HIT)),
    ],
)
def test_the_table_of_a_window_has_its_keys_and_no_others(heading: str, keys: tuple[Key, ...]) -> None:
    documented = _documented_keys(heading)
    labels = {_as_written(label) for key in keys for label in key.label.split()}
    assert labels <= documented
    known = {_as_written(name) for key in keys for names in key.keys for name in names.split(",")} | labels
    assert documented - known <= {"//", "d", "a"}, "besides the second keys of '//' and ']d'"


def _documented_keys(heading: str) -> set[str]:
    """The keys in the first column of the first table below a heading, each as it is written there."""
    section = (DOCS / "watching.md").read_text(encoding="utf-8").split(f"## {heading}\n", 1)[1]
    table = section.split("| Key | Action |\n|---|---|\n", 1)[1].split("\n\n", 1)[0]
    cells = [line.split(" | ")[0] for line in table.splitlines()]
    return {key for cell in cells for key in re.findall(r"`([^`]+)`", cell)}


def _as_written(label: str) -> str:
    """A key of the footer as the pages write it."""
    if label == "1-9":
        return "1"
    return label.replace("⇧", "shift+").replace("^F", "ctrl+f").replace("^P", "ctrl+p")


def test_the_changelog_has_an_entry_for_this_version() -> None:
    assert f"## {__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", doc_examples.PAGES, ids=page_id)
def test_examples_print_what_the_page_shows(page: Path) -> None:
    """Each command of a `console` block is run, and its output compared byte for byte."""
    text = page.read_text(encoding="utf-8")
    assert doc_examples.rewritten(text) == text, "run 'make docs' and review what changed"


@pytest.mark.parametrize("page", doc_examples.PAGES, ids=page_id)
def test_console_blocks_begin_with_a_command(page: Path) -> None:
    for block in doc_examples.blocks(page.read_text(encoding="utf-8")):
        assert block.startswith(tuple(f"$ {program} " for program in doc_examples.PROGRAMS))


def test_examples_cover_all_tasks() -> None:
    without = {
        "index.md",
        "sharing.md",
        "python.md",
        "format.md",
        "glossary.md",
    }  # what these show is not reproducible, or no command
    pages = {page.name for page in TASK_PAGES if doc_examples.blocks(page.read_text(encoding="utf-8"))}
    assert pages == {page.name for page in TASK_PAGES} - without


def test_the_page_about_redaction_counts_the_rules_of_each_table() -> None:
    page = (DOCS / "redaction.md").read_text(encoding="utf-8")
    counts = [int(count) for count in re.findall(r"^\| [^|]+ \| (\d+) \|", page, re.MULTILINE)]
    tables = (AI_RULES, CLOUD_RULES, CODE_RULES, SERVICE_RULES, PRODUCT_RULES, KEY_RULES, NAMED_RULES)
    contexts = (REQUEST_RULES, COMMAND_RULES, ASSIGNMENT_RULES, PROSE_RULES)
    assert counts == [len(table) for table in (*tables, *contexts)]
    assert sum(map(len, (*tables, *contexts))) == len(SECRET_RULES)


def test_the_page_about_redaction_has_every_kind() -> None:
    page = (DOCS / "redaction.md").read_text(encoding="utf-8")
    assert not [kind.word for kind in Kind if f"`{kind.word}`" not in page]


def test_the_readme_stays_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


@pytest.mark.parametrize("page", LINKED_PAGES, ids=page_id)
def test_links_between_pages_lead_to_a_heading(page: Path) -> None:
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)", _without_code(page)):
        linked = page.parent / target if target else page
        assert linked.exists(), target
        assert not anchor or anchor in _anchors(linked), f"{target}#{anchor}"


def _without_code(page: Path) -> str:
    """The prose of a page: code may contain what looks like a link or a heading."""
    return re.sub(r"^```.*?^```$|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def _anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and MkDocs spell them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


def test_the_site_has_every_page() -> None:
    site = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in (*DOCS.glob("*.md"), *PROJECT_PAGES):
        assert re.search(rf": {page.name}$", site, re.MULTILINE), page.name


def test_the_site_check_finds_what_a_page_loads_from_the_network(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<a href="https://a.example"></a><script src="//b.example/x.js"></script><img src="c.png">'
    )
    (tmp_path / "d.css").write_text("@import url(https://e.example/font.css); a { background: url(f.png) }")
    assert [address for _, address in check_site.remote_loads(tmp_path)] == [
        "//b.example/x.js",
        "https://e.example/font.css",
    ]


def test_a_console_block_runs_no_other_program() -> None:
    with pytest.raises(ValueError, match="not 'rm'"):
        doc_examples.rewritten("```console\n$ rm -r .\n```\n")


def test_every_room_has_its_place_in_the_architecture() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    package = ROOT / "claude_session_player"
    rooms = {f"`{path.parent.name}/`" for path in package.glob("*/__init__.py")}
    modules = {f"`{path.stem}`" for path in package.glob("*.py") if not path.stem.startswith("_")}
    assert not {name for name in rooms | modules if name not in page}


def test_the_picture_shows_the_demo() -> None:
    picture = (ROOT / "docs" / "demo.svg").read_text(encoding="utf-8")
    drawn = html.unescape(re.sub(r"<style>.*?</style>|<[^>]*>|\s", "", picture, flags=re.DOTALL))
    for line in (ROOT / "tests" / "fixtures" / "demo.md").read_text(encoding="utf-8").splitlines():
        assert "".join(line.split()) in "".join(drawn.split()), "run 'make docs'"


@pytest.mark.parametrize("name", screens.PICTURES)
def test_a_picture_of_a_full_screen_program_shows_what_it_draws(name: str) -> None:
    picture = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert svg_text(picture) == svg_text(screens.PICTURES[name]()), "run 'make docs'"


def test_there_are_four_pictures_for_the_docs() -> None:
    assert {path.name for path in (ROOT / "docs").glob("*.svg")} == {"demo.svg", *screens.PICTURES}
