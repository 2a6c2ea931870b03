from itertools import combinations

from cobaltlab import ipam, subnets


def test_blocks_of_labs_do_not_overlap() -> None:
    blocks = [subnets.Subnets(index).block for index in range(len(subnets.BLOCKS))]
    assert len(blocks) == 16
    assert not any(one.overlaps(other) for one, other in combinations(blocks, 2))


def test_subnets_of_a_lab_do_not_overlap_and_are_inside_its_block() -> None:
    for index in range(len(subnets.BLOCKS)):
        plan = subnets.Subnets(index)
        parts = [plan.nodes, plan.services, plan.pods, plan.spare]
        assert not any(one.overlaps(other) for one, other in combinations(parts, 2))
        assert all(part.subnet_of(plan.block) for part in parts)


def test_addresses_of_the_first_lab() -> None:
    plan = subnets.Subnets(0)
    assert str(plan.node(0)) == "100.64.0.10"
    assert str(plan.host) == "100.64.0.254"
    assert str(plan.kubernetes) == "100.65.0.1"
    assert str(plan.dns) == "100.65.0.10"
    assert str(plan.pod_cidr(2)) == "100.66.2.0/24"
    assert str(plan.tunnel(1)) == "100.67.0.11"
    assert str(plan.external) == "100.67.1.0/24"
    assert plan.api_url == "https://100.64.0.10:6443"


def test_the_maximum_of_nodes_fits_into_the_subnets() -> None:
    plan, last = subnets.Subnets(15), subnets.MAX_NODES - 1
    assert plan.node(last) in plan.nodes
    assert plan.node(last) < plan.host
    assert plan.pod_cidr(last).subnet_of(plan.pods)


def test_candidates_exclude_used_and_reserved_blocks() -> None:
    routes = [subnets.Subnets(0).pod_cidr(3), subnets.Subnets(2).block.supernet(new_prefix=13)]
    found = ipam.candidates(routes, reserved={4})
    assert found[:2] == [1, 5]


def test_candidates_start_with_the_previously_claimed_number() -> None:
    assert ipam.candidates([], reserved=set(), first=7)[:3] == [7, 0, 1]


def test_there_is_no_candidate_when_a_route_covers_the_shared_space() -> None:
    assert ipam.candidates([subnets.SHARED_SPACE], reserved=set()) == []
