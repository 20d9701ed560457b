"""Certificates and kubeconfig files of the test control plane, made with the openssl command.

A `Pki` owns one folder. It holds one certificate authority that signs everything: serving
certificates, and one client certificate for each identity. Keys are EC P-256. Files are
`NAME.crt` and `NAME.key`; making a name that exists keeps the old files.
"""

import base64
import subprocess
from pathlib import Path

CURVE = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]

# Given with -config, so that nothing depends on the system's openssl.cnf.
CA_CONFIG = """\
[req]
distinguished_name = name
x509_extensions = authority
[name]
[authority]
basicConstraints = critical,CA:TRUE
keyUsage = critical,keyCertSign,cRLSign
subjectKeyIdentifier = hash
"""

# The key identifiers are what strict verifiers, Python 3.13 among them, ask for.
LEAF_EXTENSIONS = """\
basicConstraints = critical,CA:FALSE
keyUsage = critical,digitalSignature
extendedKeyUsage = {usage}
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
{more}
"""

KUBECONFIG = """\
apiVersion: v1
kind: Config
clusters:
- name: test
  cluster:
    server: {server}
    certificate-authority-data: {ca}
users:
- name: {user}
  user:
{credentials}
contexts:
- name: test
  context:
    cluster: test
    user: {user}
current-context: test
"""


def openssl(*arguments):
    """Runs openssl; raises RuntimeError with its message if it fails."""
    command = ["openssl", *map(str, arguments)]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        raise RuntimeError("the openssl command is missing; install the package openssl") from None
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed: {done.stderr.strip()}")
    return done.stdout


class Pki:
    """A certificate authority and what it has signed, in `folder`."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.folder.chmod(0o700)

    def crt(self, name):
        """The path of the certificate `name`."""
        return self.folder / f"{name}.crt"

    def key(self, name):
        """The path of the private key `name`."""
        return self.folder / f"{name}.key"

    @property
    def ca(self):
        """The path of the authority's certificate."""
        return self.crt("ca")

    def make_ca(self):
        """Makes the authority."""
        if not self.ca.exists():
            config = self._config()
            openssl("req", "-x509", "-config", config, *CURVE, "-days", 3650,
                    "-subj", "/CN=pumice-test-ca", "-keyout", self.key("ca"), "-out", self.ca)

    def make_key_pair(self, name):
        """Makes a bare key pair: `NAME.key` and the public key in `NAME.pub`."""
        public = self.folder / f"{name}.pub"
        if not public.exists():
            openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256",
                    "-out", self.key(name))
            openssl("pkey", "-in", self.key(name), "-pubout", "-out", public)
        return public

    def serving(self, name, hosts=("127.0.0.1", "localhost")):
        """Makes a serving certificate for `hosts` (names and IPv4 addresses)."""
        names = ",".join(("IP:" if host.replace(".", "").isdigit() else "DNS:") + host
                         for host in hosts)
        self._sign(name, f"/CN={hosts[0]}", "serverAuth", f"subjectAltName = {names}")

    def client(self, name, user, groups=()):
        """Makes a client certificate for the Kubernetes user `user` in `groups`."""
        subject = "".join(f"/O={group}" for group in groups) + f"/CN={user}"
        self._sign(name, subject, "clientAuth", "")

    def _config(self):
        config = self.folder / "openssl.cnf"
        config.write_text(CA_CONFIG)
        return config

    def _sign(self, name, subject, usage, more):
        if self.crt(name).exists():
            return
        request = self.folder / f"{name}.csr"
        extensions = self.folder / f"{name}.ext"
        openssl("req", "-new", "-config", self._config(), *CURVE, "-subj", subject,
                "-keyout", self.key(name), "-out", request)
        extensions.write_text(LEAF_EXTENSIONS.format(usage=usage, more=more))
        openssl("x509", "-req", "-in", request, "-CA", self.ca, "-CAkey", self.key("ca"),
                "-set_serial", "0x" + openssl("rand", "-hex", 16).strip(), "-days", 3650,
                "-extfile", extensions, "-out", self.crt(name))
        request.unlink()
        extensions.unlink()

    def kubeconfig(self, path, server, name, token=None, ca=None):
        """Writes a kubeconfig to `path`: `server` as the client `name`, or with a bearer token.

        `ca` is the certificate file that the server is checked with, by default our own.
        """
        if token is None:
            credentials = (f"    client-certificate-data: {encode(self.crt(name))}\n"
                           f"    client-key-data: {encode(self.key(name))}")
        else:
            credentials = f"    token: {token}"
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.write_text(KUBECONFIG.format(server=server, ca=encode(ca or self.ca), user=name,
                                          credentials=credentials))
        return path


def encode(path):
    """The content of a file in base64, on one line."""
    return base64.b64encode(Path(path).read_bytes()).decode()
