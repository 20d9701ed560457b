"""Tests of the client in faultproxy.py: two proxies in a row, of which the first stands for an API server.

FAULTPROXY names the binary; without it, it is built into a temporary folder.
"""

import http.client
import json
import os
import ssl
import subprocess
import tempfile
import unittest
from pathlib import Path
from urllib.parse import urlsplit

from faultproxy import FaultProxy, FaultProxyError, redirect

HERE = Path(__file__).resolve().parent
NOWHERE = "https://127.0.0.1:1"


def get(proxy, path):
    """The status and JSON body of a GET through the proxy."""
    context = ssl.create_default_context(cafile=proxy.ca_file)
    connection = http.client.HTTPSConnection(urlsplit(proxy.url).netloc, context=context, timeout=10)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


class RunningProxy(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = Path(scratch.name)
        cls.binary = os.environ.get("FAULTPROXY")
        if not cls.binary:
            cls.binary = cls.folder / "bin" / "faultproxy"
            subprocess.run([HERE / "build", cls.binary], check=True)
        # Nothing is forwarded by the first, so any certificate does as its upstream's CA.
        some_ca = cls.folder / "some.crt"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                        "-nodes", "-subj", "/CN=x", "-keyout", cls.folder / "some.key", "-out", some_ca],
                       check=True, capture_output=True)
        cls.server = FaultProxy(cls.binary, NOWHERE, some_ca, dir=cls.folder / "server").start()
        cls.addClassCleanup(cls.server.stop)
        cls.server.add({"action": {"type": "status", "code": 404}})

    def setUp(self):
        self.proxy = FaultProxy(self.binary, self.server.url, self.server.ca_file,
                                dir=self.folder / self.id()).start()
        self.addCleanup(self.proxy.stop)

    def test_rules_hits_and_log(self):
        first = self.proxy.add({"match": {"resource": "nodes"}, "times": 1, "action": {"type": "token_reject"}})
        self.assertEqual(get(self.proxy, "/api/v1/nodes")[0], 401)
        status, body = get(self.proxy, "/api/v1/nodes/a")
        self.assertEqual((status, body["reason"]), (404, "NotFound"))
        self.assertEqual(self.proxy.hits(first), 1)
        seen = [(e["verb"], e["resource"], e["name"], e["status"], e["fault"]) for e in self.proxy.log()]
        self.assertEqual(seen, [("list", "nodes", "", 401, "token_reject"), ("get", "nodes", "a", 404, "")])

    def test_clear_remove_and_reset(self):
        for forget in (self.proxy.clear, self.proxy.reset, lambda: self.proxy.remove(rule)):
            rule = self.proxy.add({"action": {"type": "status", "code": 503}})
            self.assertEqual(get(self.proxy, "/api/v1/nodes")[0], 503)
            forget()
            self.assertEqual(get(self.proxy, "/api/v1/nodes")[0], 404)
            self.assertRaises(FaultProxyError, self.proxy.hits, rule)

    def test_a_bad_rule_is_refused(self):
        with self.assertRaisesRegex(FaultProxyError, "code 1 is not between"):
            self.proxy.add({"action": {"type": "status", "code": 1}})

    def test_a_failed_start_says_why(self):
        with self.assertRaisesRegex(FaultProxyError, "is not an https URL"):
            FaultProxy(self.binary, "nowhere", self.server.ca_file, dir=self.folder / "failed").start()

    def test_kubeconfig(self):
        source = self.folder / "admin"
        source.write_text("clusters:\n- cluster:\n    certificate-authority-data: QUJD\n"
                          "    server: https://127.0.0.1:1\n")
        target = self.proxy.kubeconfig(source)
        self.assertEqual(target.read_text(), "clusters:\n- cluster:\n"
                         f'    certificate-authority: "{self.proxy.ca_file}"\n    server: "{self.proxy.url}"\n')


class Redirect(unittest.TestCase):
    def redirect(self, text):
        return redirect(text, "https://p:1", Path("/ca"), Path("/etc/k"))

    def test_flow_style(self):
        self.assertEqual(self.redirect("{server: 'https://a', insecure-skip-tls-verify: true}"),
                         '{server: "https://p:1", certificate-authority: "/ca"}')

    def test_json(self):
        text = self.redirect('{"server":"https://a","certificate-authority":"ca","tls-server-name":"x"}')
        self.assertEqual(json.loads(text), {"server": "https://p:1", "certificate-authority": "/ca",
                                            "tls-server-name": "localhost"})

    def test_paths_become_absolute(self):
        text = self.redirect("server: a\ncertificate-authority: b\nclient-certificate: c\n"
                             "client-key: /d\ntokenFile: e\nclient-key-data: f\n")
        self.assertEqual(text.splitlines()[2:], ['client-certificate: "/etc/k/c"', 'client-key: "/d"',
                                                 'tokenFile: "/etc/k/e"', "client-key-data: f"])

    def test_a_cluster_without_ca_is_refused(self):
        self.assertRaises(FaultProxyError, self.redirect, "server: a\n")


if __name__ == "__main__":
    unittest.main()
