from itertools import combinations

from cobaltcore.lab import allotment, ranges


def test_instances_never_share_an_address() -> None:
    blocks = [ranges.Ranges(index).block for index in range(len(ranges.BLOCKS))]
    assert len(blocks) == 16
    assert not any(one.overlaps(other) for one, other in combinations(blocks, 2))


def test_parts_of_an_instance_are_apart_and_inside_its_block() -> None:
    for index in range(len(ranges.BLOCKS)):
        plan = ranges.Ranges(index)
        parts = [plan.nodes, plan.services, plan.pods, plan.spare]
        assert not any(one.overlaps(other) for one, other in combinations(parts, 2))
        assert all(part.subnet_of(plan.block) for part in parts)


def test_addresses_of_the_first_instance() -> None:
    plan = ranges.Ranges(0)
    assert str(plan.node(0)) == "100.64.0.10"
    assert str(plan.host) == "100.64.0.254"
    assert str(plan.kubernetes) == "100.65.0.1"
    assert str(plan.dns) == "100.65.0.10"
    assert str(plan.pods_of(2)) == "100.66.2.0/24"
    assert str(plan.tunnel(1)) == "100.67.0.11"
    assert str(plan.outside) == "100.67.1.0/24"
    assert plan.api_url == "https://100.64.0.10:6443"


def test_the_most_nodes_fit_into_the_networks() -> None:
    plan, last = ranges.Ranges(15), ranges.MOST_NODES - 1
    assert plan.node(last) in plan.nodes
    assert plan.node(last) < plan.host
    assert plan.pods_of(last).subnet_of(plan.pods)


def test_candidates_leave_out_what_others_use() -> None:
    routes = [ranges.Ranges(0).pods_of(3), ranges.Ranges(2).block.supernet(new_prefix=13)]
    found = allotment.candidates(routes, reserved={4})
    assert found[:2] == [1, 5]


def test_candidates_begin_with_the_number_that_was_claimed_before() -> None:
    assert allotment.candidates([], reserved=set(), first=7)[:3] == [7, 0, 1]


def test_there_is_no_candidate_when_a_route_covers_the_shared_space() -> None:
    assert allotment.candidates([ranges.SHARED], reserved=set()) == []
