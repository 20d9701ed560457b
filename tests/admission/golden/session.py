"""One run of cases against a control plane, from the manifests to the table."""

import collections
import time

from .registration import Product
from .outcomes import OTHER, SCHEMA
from .run import NEVER, SAME, WRONG, Runner
from .server import Server
from .world import World


def run(plane, cases):
    """Installs the webhook on the control plane and runs the cases: a list of results."""
    product = Product(plane, tied=True)
    product.apply_manifests()
    product.register_webhooks()
    server = Server(plane)
    try:
        product.run_with({}, None)
        product.wait_admission()
        world = World(server, product)
        world.prepare(cases)
        begin = time.monotonic()
        results = list(Runner(server, world, product.names()).run(cases))
        print(f"{len(results)} cases in {time.monotonic() - begin:.1f} s")
        complaint = product.webhook.complaint()
        if complaint or product.webhook.stop() not in (0, None):
            raise RuntimeError(complaint or f"the webhook did not end well; log: {product.webhook.log}")
        return results
    finally:
        server.close()
        product.webhook.kill9()


def table(results):
    """How many cases came out how, by path; why some could not be sent; and what was wrong."""
    kinds = [SAME, SCHEMA, OTHER, NEVER, WRONG]
    counts = collections.Counter((path, result.kind) for result in results for path in (result.case.path, "all"))
    lines = [" ".join([f"{'':22}", *(f"{kind:>13}" for kind in kinds)])]
    for path in [*sorted({result.case.path for result in results}), "all"]:
        lines.append(" ".join([f"{path:22}", *(f"{counts[path, kind]:13}" for kind in kinds)]))
    reasons = collections.Counter(result.text for result in results if result.kind == NEVER)
    lines += [f"{NEVER}: {count} with {reason}" for reason, count in reasons.most_common()]
    return "\n".join(lines + wrong(results))


def wrong(results):
    """One line for each case that came out as it should not."""
    return [f"{result.case.name}: {result.text}" for result in results if result.kind == WRONG]
