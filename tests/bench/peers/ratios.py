# SPDX-License-Identifier: Apache-2.0
"""attnc's speed as a multiple of others', of rows that have been measured."""


def add_ratios(result: dict, allowed: float) -> None:
    """attnc against the best peer, where the outputs of both are right."""
    result["wrong"] = [name for name, difference in result["difference"].items() if not difference <= allowed]
    times = result["milliseconds"]
    peers = {name: t for name, t in times.items() if name != "attnc" and name not in result["wrong"]}
    if peers:
        result["best_peer"] = min(peers, key=lambda name: peers[name]["minimum"])
        if "attnc" in times and "attnc" not in result["wrong"]:
            result["ratio"] = {which: min(t[which] for t in peers.values()) / times["attnc"][which]
                               for which in ("minimum", "median")}


def ratio_to_wrong(result: dict) -> float | None:
    """attnc's speed as a multiple of that of the fastest peer, where the outputs of that one differ too much."""
    times = result["milliseconds"]
    wrong = [times[name]["minimum"] for name in result["wrong"] if name in times and name != "attnc"]
    if "ratio" not in result or not wrong or min(wrong) >= times[result["best_peer"]]["minimum"]:
        return None
    return min(wrong) / times["attnc"]["minimum"]


def ratio_to(result: dict, peer: str) -> float | None:
    """attnc's speed as a multiple of one peer's, where the outputs of both are right."""
    times, wrong = result["milliseconds"], {"attnc", peer} & set(result["wrong"])
    return times[peer]["minimum"] / times["attnc"]["minimum"] if {"attnc", peer} <= times.keys() and not wrong else None
