"""ClusterIPs, as a proxy of the nodes serves them: addresses on loopback, connections passed on to ready endpoints.

Where a Service has no endpoint its port is closed, so that a connection is refused at once. A connection that stands
goes on when its endpoint is no longer ready, until one of the two ends it.
"""

import asyncio
import random
import threading

import kubernetes

from .netns import ip
from .store import Store, listing

CHUNK = 1 << 17


class Proxy:
    """All Services of type ClusterIP that have a selector, or endpoints otherwise."""

    def __init__(self, api, complain):
        self._complain = complain
        self._servers, self._backends, self._addresses = {}, {}, set()
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True, name="proxy").start()
        self._turns = asyncio.Lock()
        discovery = kubernetes.client.DiscoveryV1Api(api.client)
        self._services = self._slices = None
        self._services = Store(listing(api.core.list_service_for_all_namespaces), self._changed)
        self._slices = Store(listing(discovery.list_endpoint_slice_for_all_namespaces), self._changed)
        self._changed()

    def stop(self):
        """Stops listening; connections end with this process."""
        self._services.end()
        self._slices.end()
        self._loop.call_soon_threadsafe(self._loop.stop)

    def _changed(self):
        asyncio.run_coroutine_threadsafe(self._follow(), self._loop)

    async def _follow(self):
        async with self._turns:
            try:
                await self._sync()
            except Exception as error:  # pylint: disable=broad-except
                self._complain(f"proxy: {type(error).__name__}: {error}")

    async def _sync(self):
        if self._services is None or self._slices is None:
            return
        wanted = self._wanted()
        for front in set(self._servers) - set(wanted):
            self._servers.pop(front).close()
        self._backends = wanted
        for front in set(wanted) - set(self._servers):
            if front[0] not in self._addresses:
                self._addresses.add(front[0])
                ip("address", "add", f"{front[0]}/32", "dev", "lo")
            self._servers[front] = await asyncio.start_server(self._serve(front), *front, limit=CHUNK)

    def _wanted(self):
        """{(ClusterIP, port): [(address, port), ...]} of what has endpoints."""
        found = {}
        for service in self._services.all():
            address = service["spec"].get("clusterIP", "None")
            if address in ("", "None"):
                continue
            slices = [one for one in self._slices.all() if service_of(one) == (
                service["metadata"]["namespace"], service["metadata"]["name"])]
            for port in service["spec"].get("ports", []):
                endpoints = endpoints_of(slices, port.get("name", ""))
                if endpoints and port.get("protocol", "TCP") == "TCP":
                    found[address, port["port"]] = endpoints
        return found

    def _serve(self, front):
        async def serve(reader, writer):
            try:
                back = random.choice(self._backends[front])
                back_reader, back_writer = await asyncio.open_connection(*back, limit=CHUNK)
            except (OSError, KeyError):
                writer.transport.abort()
                return
            await asyncio.gather(pump(reader, back_writer), pump(back_reader, writer))
            back_writer.close()
            writer.close()
        return serve


def service_of(found):
    """Namespace and name of the Service that an EndpointSlice belongs to."""
    return found["metadata"]["namespace"], found["metadata"].get("labels", {}).get("kubernetes.io/service-name")


def endpoints_of(slices, port_name):
    """Addresses and ports of the ready endpoints; if there is none, of those that serve while they end."""
    ready, ending = [], []
    for one in slices:
        for port in one.get("ports") or []:
            if (port.get("name") or "") != port_name:
                continue
            for endpoint in one.get("endpoints") or []:
                conditions = endpoint.get("conditions", {})
                places = [(address, port["port"]) for address in endpoint["addresses"]]
                if conditions.get("ready", True):
                    ready += places
                elif conditions.get("serving") and conditions.get("terminating"):
                    ending += places
    return ready or ending


async def pump(reader, writer):
    """Passes bytes on until one side has said all, and tells the other."""
    try:
        while data := await reader.read(CHUNK):
            writer.write(data)
            await writer.drain()
        writer.write_eof()
    except (OSError, RuntimeError):
        writer.transport.abort()
