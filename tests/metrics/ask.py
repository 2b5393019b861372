"""Asks a Prometheus server that scrapes isobar: is the scrape healthy, does every rule evaluate, and
does every query of the dashboard and of the documentation return data?"""

import json
import re
import sys
import time
import urllib.parse
import urllib.request

SERVER, DASHBOARD, PAGE = sys.argv[1:]
PATIENCE = 60
# What has data only where something goes wrong, or where a fleet is long at work.
MAY_BE_EMPTY = {
    "isobar_action_refusals_total",
    "isobar_sensor_missing",
    "isobar_llc_cluster_ways",
    "isobar_node_controller_utilization_ratio > 0.8",
}


def ask(path, **parameters):
    query = urllib.parse.urlencode(parameters)
    with urllib.request.urlopen(f"{SERVER}/api/v1/{path}?{query}", timeout=10) as answer:
        return json.load(answer)["data"]


def until(what, attempt):
    """Tries until it is true; the server and the run need some scrapes."""
    end, said = time.monotonic() + PATIENCE, None
    while time.monotonic() < end:
        try:
            said = attempt()
            if said is True:
                return
        except OSError as error:
            said = error
        time.sleep(0.5)
    sys.exit(f"{what}: after {PATIENCE} s still: {said}")


def healthy():
    targets = ask("targets")["activeTargets"]
    return all(target["health"] == "up" for target in targets) and bool(targets) or [t["lastError"] for t in targets]


def evaluated():
    rules = [rule for group in ask("rules")["groups"] for rule in group["rules"]]
    bad = [(rule["name"], rule.get("lastError")) for rule in rules if rule["health"] != "ok"]
    return len(rules) > 20 and not bad or bad or "no rules yet"


def substituted(query):
    for variable, value in {"$__rate_interval": "10s", "$instance": ".+"}.items():
        query = query.replace(variable, value)
    return query


def of_dashboard():
    panels = json.load(open(DASHBOARD))["panels"]
    return [(panel["title"], target["expr"]) for panel in panels for target in panel.get("targets", [])]


def of_page():
    blocks = re.findall(r"```promql\n(.*?)```", open(PAGE).read(), re.S)
    return [("docs", query) for block in blocks for query in block.split("\n\n") if query.strip()]


def has_data(query):
    return bool(ask("query", query=query)["result"]) or "no data"


until("the scrape", healthy)
until("the rules", evaluated)
queries = [(where, substituted(query)) for where, query in of_dashboard() + of_page()]
assert len(queries) > 30, queries
for where, query in queries:
    if any(name in query for name in MAY_BE_EMPTY):
        ask("query", query=query)
    else:
        until(f"{where}: {query}", lambda query=query: has_data(query))
series = int(ask("query", query='count({__name__=~"isobar_.*"})')["result"][0]["value"][1])
print(f"scraped, all rules evaluate, {len(queries)} queries return data; {series} series of one machine")
