"""Checks metrics with promtool and every query of a dashboard against a server."""
import json
import subprocess
import sys
import time
import urllib.parse
import urllib.request

promtool, metrics, server, dashboard, log = sys.argv[1:]
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
passed = failed = 0


def check(name, problem):
    global passed, failed
    if problem:
        failed += 1
        print(f"FAIL {name}: {problem}")
    else:
        passed += 1


def fetch(url):
    with opener.open(url, timeout=10) as answer:
        return answer.read()


def query(expr):
    answer = json.loads(fetch(f"{server}/api/v1/query?" + urllib.parse.urlencode({"query": expr})))
    return answer["data"]["result"] if answer["status"] == "success" else []


def await_(what, ok):
    end = time.monotonic() + 90
    while True:
        try:
            if ok():
                return
        except OSError:
            pass  # it does not listen yet
        if time.monotonic() > end:
            print(f"prometheus: waited in vain for {what}", file=sys.stderr)
            print(open(log).read(), file=sys.stderr)
            sys.exit(1)
        time.sleep(0.25)


def value(expr):
    result = query(expr)
    return float(result[0]["value"][1]) if result else 0.0


lint = subprocess.run([promtool, "check", "metrics"], input=fetch(metrics), capture_output=True)
check("promtool check metrics", (lint.stdout + lint.stderr).decode().strip() or (lint.returncode and f"exit {lint.returncode}"))

await_("the first scrapes", lambda: value("count_over_time(up[2m])") >= 4 and value("min(up)") == 1)
await_("a collection", lambda: value("isobar_gc_cycles_gc_cycles_total") > 0)

with open(dashboard) as f:
    board = json.load(f)
queries = [(p["title"], t["expr"]) for p in board["panels"] for t in p["targets"]]
check("the dashboard has queries", len(queries) < 20 and f"only {len(queries)}")
for title, expr in queries:
    concrete = expr.replace("$__rate_interval", "30s").replace("$instance", ".*")
    if "$" in concrete:
        check(f"{title}: {expr}", "a variable that the dashboard does not define")
        continue
    # A quantile of pauses has a value only where there was a pause lately.
    result = query(concrete) or query(f"last_over_time({concrete}[1m])" if not concrete.startswith("rate(") else concrete)
    numbers = [r["value"][1] for r in result]
    check(f"{title}: {expr}", (not numbers and "no data") or ("NaN" in numbers and "not a number"))
for name in [v["query"] for v in board["templating"]["list"] if v["type"] == "query"]:
    metric = name.removeprefix("label_values(").split(",")[0]
    check(f"variable {name}", not query(metric) and "no data")
problems = [line for line in open(log).read().splitlines() if "level=error" in line or "level=warn" in line]
check("the server's log", "; ".join(problems))
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0)
