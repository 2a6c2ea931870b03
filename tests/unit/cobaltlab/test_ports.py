import socket

from cobaltlab import ports


def test_a_port_on_all_addresses_is_reported_with_its_process() -> None:
    with socket.create_server(("", 0)) as listener:
        port = listener.getsockname()[1]
        found = ports.taken([port])
    assert list(found) == [port]
    assert found[port].endswith(")")
    assert "(pid " in found[port]
    assert ports.taken([port]) == {}


def test_a_port_on_one_address_is_not_reported() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        assert ports.taken([listener.getsockname()[1]]) == {}
