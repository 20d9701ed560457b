"""JSON patches as our answers have them: add, replace and remove."""

import copy


def _step(token, node):
    token = token.replace("~1", "/").replace("~0", "~")
    return token if isinstance(node, dict) else len(node) if token == "-" else int(token)


def apply(document, patch):
    """The document with the patch applied; the document itself stays."""
    made = copy.deepcopy(document)
    for step in patch:
        *way, last = step["path"].split("/")[1:]
        node = made
        for token in way:
            node = node[_step(token, node)]
        key = _step(last, node)
        if step["op"] == "remove":
            del node[key]
        elif step["op"] == "add" and isinstance(node, list):
            node.insert(key, step["value"])
        else:
            node[key] = step["value"]
    return made
