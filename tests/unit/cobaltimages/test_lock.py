from cobaltimages import lock, release

COMPILED = """\
# a header
amqp==5.3.1 \\
    --hash=sha256:aa \\
    --hash=sha256:bb
Oslo.Messaging==17.1.0 ; python_version >= "3.10" \\
    --hash=sha256:cc
"""


def test_pins_keep_their_hashes() -> None:
    found = lock.pins_with_hashes(COMPILED)

    assert list(found) == ["amqp", "oslo-messaging"]
    assert found["amqp"].count("--hash") == 2
    assert found["oslo-messaging"].startswith("Oslo.Messaging==17.1.0")


def test_what_two_components_need_is_shared() -> None:
    found = lock.split({"nova": ["nova", "oslo", "numpy"], "glance": ["glance", "oslo"]})

    assert found == {release.SHARED: {"oslo"}, "nova": {"nova", "numpy"}, "glance": {"glance"}}


def test_what_every_service_gets_is_shared_even_if_only_one_declares_it() -> None:
    found = lock.split({"nova": ["nova", "redis"]}, always_shared=["redis", "pyuwsgi"])

    assert found == {release.SHARED: {"redis", "pyuwsgi"}, "nova": {"nova"}}
