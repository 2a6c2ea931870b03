import configparser

from hypothesis import given
from hypothesis import strategies as st

from cobaltcore.engine.desired import inifile

names = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)
values = st.from_regex(r"[A-Za-z0-9,:/._-]{1,12}", fullmatch=True)
sections = st.dictionaries(
    names, st.dictionaries(names, values, min_size=1, max_size=4), max_size=4
)


@given(sections)
def test_what_is_rendered_reads_back_the_same(options: dict[str, dict[str, str]]) -> None:
    parser = configparser.RawConfigParser()
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(inifile.render(options))
    assert {name: dict(parser[name]) for name in parser.sections()} == options


@given(sections)
def test_the_text_does_not_depend_on_the_order(options: dict[str, dict[str, str]]) -> None:
    turned = {k: dict(reversed(v.items())) for k, v in reversed(options.items())}
    assert inifile.render(options) == inifile.render(turned)


def test_the_form_is_fixed() -> None:
    text = inifile.render({"token": {"provider": "fernet"}, "DEFAULT": {"b": "2", "a": "1"}})
    assert text == "[DEFAULT]\na = 1\nb = 2\n\n[token]\nprovider = fernet\n"


def test_later_layers_win_option_by_option() -> None:
    merged = inifile.merge({"a": {"x": "1", "y": "1"}}, None, {"a": {"x": "2"}})
    assert merged == {"a": {"x": "2", "y": "1"}}
